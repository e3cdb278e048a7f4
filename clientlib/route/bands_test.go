package route

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route/money"
)

// A model that changes under an endpoint's name takes it to another band.
func TestAnEndpointIsInTheBandOfItsModel(t *testing.T) {
	c, r := bandedSmall(), NewRouter()
	var prev *Snapshot
	for generation, model := range []string{"m", "n", "m"} {
		next := *c
		next.Version.Generation = uint64(generation)
		next.Endpoints = slices.Clone(c.Endpoints)
		next.Endpoints[5].Model = model
		prev = made(t, prev, &next, nil)
		r.Apply(1, prev)
		at := map[string]int{}
		for seed := range uint32(50) {
			call := r.Begin(1, "w2", Request{Input: 10, MaxOutput: 10})
			step := r.Next(1, seed, &call)
			if step.Kind != Send {
				t.Fatal(step.Err)
			}
			at[step.Endpoint.Name]++
			r.Settle(1, step.Attempt, Outcome{Kind: Unsent})
		}
		if alone := at["e5"] == 50; alone != (model == "n") || len(at) != 1 && model == "n" {
			t.Errorf("e5 has model %s: %v", model, at)
		}
	}
}

func TestWhatIsCachedIsTheMeanOfAllThenOfTheLatest(t *testing.T) {
	answer := func(w *work, home uint8, u money.Usage, estimated bool) {
		w.recall(&slot{home: home}, &Outcome{Kind: Served, HasUsage: true, Usage: u, Estimated: estimated})
	}
	w, c := &work{}, &Call{request: Request{Input: 1000}}
	credits := func() string { return fmt.Sprint(w.credit(firstHome, c), " ", w.credit(secondHome, c)) }
	for _, step := range []struct {
		rule string
		do   func()
		want string
	}{
		{"nothing before an answer", func() {}, "0 0"},
		{"the first answer", func() { answer(w, firstHome, money.Usage{Input: 100, Cached: 80}, false) }, "800 0"},
		{"the mean of two", func() { answer(w, firstHome, money.Usage{Input: 100, Cached: 40}, false) }, "600 0"},
		{"second homes by themselves", func() { answer(w, secondHome, money.Usage{Input: 100, Cached: 10}, false) }, "600 100"},
		{"no estimate", func() { answer(w, firstHome, money.Usage{Input: 100}, true) }, "600 100"},
		{"nothing from elsewhere", func() { answer(w, noHome, money.Usage{Input: 100}, false) }, "600 100"},
		{"nothing of an empty prompt", func() { answer(w, firstHome, money.Usage{}, false) }, "600 100"},
		{"no more than all", func() { answer(w, secondHome, money.Usage{Input: 100, Cached: 900}, false) }, "600 550"},
		{"no less than nothing", func() { answer(w, secondHome, money.Usage{Input: 100, Cached: -900}, false) }, "600 366"},
		{"of the latest, half", func() {
			for range 44 {
				answer(w, firstHome, money.Usage{Input: 100}, false)
			}
			w.cached[0].n, w.cached[0].part = 64, 0.5
			for range 44 {
				answer(w, firstHome, money.Usage{Input: 100}, false)
			}
		}, "250 366"},
	} {
		if step.do(); credits() != step.want {
			t.Errorf("%s: %s, want %s", step.rule, credits(), step.want)
		}
	}
}
