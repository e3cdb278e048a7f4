package main

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/pointsman/pointsman/cmd/pointsman/simulate"
	"github.com/pointsman/pointsman/controlplane/sim"
	"github.com/pointsman/pointsman/controlplane/sim/measure"
	"github.com/pointsman/pointsman/controlplane/sim/traffic"
)

const second = 1_000_000

// made is a run that nobody played: some calls of every tenant, and attempts at every endpoint.
func made(s *sim.Scenario, p sim.Policy, seed uint64, _ func(int64) bool) (*measure.Result, error) {
	endpoints := slices.Sorted(maps.Keys(s.Servers))
	r := measure.New(measure.Plan{Policy: p.Name, Seed: seed, Warmup: s.Warmup, Duration: s.Duration, Endpoints: endpoints})
	tenants, err := tenantsOf(s)
	if err != nil {
		return nil, err
	}
	slow := int64(len(p.Name))
	for i := range int64(50) {
		at := s.Warmup + i*second/10
		for _, tenant := range tenants {
			ttft := slow*second/100 + i*second/1000 + int64(seed)
			r.Call(&measure.Call{At: at, Sent: at, First: at + ttft, End: at + 10*ttft, Attempts: 1,
				Asker: measure.Asker{Workload: "chat", Tenant: tenant}, Ending: measure.Ending{Served: true},
				Tokens: measure.Tokens{Input: 1000, Cached: 100, Output: 100}})
		}
		r.Attempt(&measure.Attempt{At: at, First: at + 1, End: at + 2, Place: int(i) % len(endpoints), Served: true, Cost: 1_000_000})
	}
	return r.Result(), nil
}

var tenantsKnown sync.Map // by *sim.Scenario

func tenantsOf(s *sim.Scenario) ([]string, error) {
	if known, ok := tenantsKnown.Load(s); ok {
		return known.([]string), nil
	}
	source, err := s.Traffic(1)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for a := (traffic.Arrival{}); ; {
		more, err := source.Next(&a)
		if err != nil {
			return nil, err
		}
		if !more || a.At > s.Duration {
			tenants := slices.Sorted(maps.Keys(seen))
			tenantsKnown.Store(s, tenants)
			return tenants, nil
		}
		seen[a.Tenant] = true
	}
}

// library are made-up runs of all studies.
func library(t *testing.T) *book {
	t.Helper()
	b := &book{}
	o := &options{seeds: 2, play: made}
	for _, s := range studies {
		played, err := s.play(t.Context(), o, nil)
		if err != nil {
			t.Fatal(err)
		}
		b.all = append(b.all, played)
	}
	return b
}

// whole is a page of runs, with the words that are there.
func whole(t *testing.T, b *book) *page {
	t.Helper()
	p := &page{book: b, files: os.DirFS(wordsDir), plots: map[string]simulate.Figure{}}
	if err := p.fill(true); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEveryFigureThatThePageNamesIsThereAndThePageIsTheSameTwice(t *testing.T) {
	t.Chdir("../..")
	b := library(t)
	first, again := whole(t, b), whole(t, b)
	if first.text() != again.text() {
		t.Error("two pages of the same runs differ")
	}
	if rows := strings.Count(first.text(), " met"); rows == 0 {
		t.Error("no expectation is held against anything")
	}
	for file, f := range first.plots {
		if !strings.Contains(first.text(), "(results/"+file+")") || len(f.Standalone()) == 0 {
			t.Errorf("plot %s is not on the page", file)
		}
	}
}

func TestEveryScenarioIsOnThePageAndEveryTextBelongsThere(t *testing.T) {
	t.Chdir("../..")
	files, err := filepath.Glob(scenarios + "/*.hcl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".hcl")
		if !slices.ContainsFunc(studies, func(s study) bool { return s.scenario() == name }) {
			t.Errorf("%s: no study plays it", file)
		}
	}
	texts, err := filepath.Glob(wordsDir + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range texts {
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		if !slices.Contains(append(names(studies), pageParts...), name) {
			t.Errorf("%s: no part of the page has this name", file)
		}
	}
}

// small is a study of three policies, the second twice as slow as the first.
func small(t *testing.T) *page {
	t.Helper()
	var results []*measure.Result
	for _, run := range []struct {
		policy string
		factor int64
	}{{"predictive", 1}, {"prequal", 2}, {"twin", 1}} {
		for seed := range int64(5) {
			r := measure.New(measure.Plan{Policy: run.policy, Seed: uint64(seed), Duration: 60 * second, Endpoints: []string{"gpu"}})
			ttft := run.factor * (second + seed*second/10)
			r.Call(&measure.Call{At: second, Sent: second, First: second + ttft, End: second + 2*ttft, Attempts: 1, Ending: measure.Ending{Served: true}})
			results = append(results, r.Result())
		}
	}
	o := simulate.Outcome{Policies: []string{"predictive", "prequal", "twin"}, Results: results}
	s := &played{study{name: "small"}, &simulate.Report{Points: []simulate.Outcome{o}}, map[string]kind{"prequal": other, "twin": other}}
	return &page{book: &book{[]*played{s}}, plots: map[string]simulate.Figure{}}
}

func TestWhatWordsSayOfTheRuns(t *testing.T) {
	p := small(t)
	for text, want := range map[string]string{
		`{{of "prequal.ttft_p99 / predictive.ttft_p99"}}`:                          "2.00",
		`{{value "small: predictive.ttft_mean"}}`:                                  "1.20 s",
		`{{across "small: prequal.ttft_mean" "small: predictive.ttft_mean"}}`:      "2.00",
		`it {{verdict "predictive" "prequal" "ttft_p99"}} Prequal`:                 "it beats Prequal",
		`{{verdict "prequal" "predictive" "goodput"}}`:                             "ties with",
		`{{verdict "prequal" "twin" "ttft_p99"}}`:                                  "loses to",
		`{{best "rival" "ttft_p99"}}`:                                              "twin",
		`{{claim "predictive.ttft_mean > 1s"}}yes`:                                 "yes",
		`{{claim "predictive.ttft_mean / prequal.ttft_mean < 0.6"}}half`:           "half",
		`{{tie "predictive" "twin" "ttft_p99"}}the same`:                           "the same",
		`{{of "predictive.ttft_p99 / best_rival.ttft_p99"}}`:                       "1.00",
		`{{claim "predictive.ttft_mean / prequal.ttft_mean > 0.6"}}more than half`: "**[does not hold: predictive.ttft_mean / prequal.ttft_mean > 0.6 (0.500)]** more than half",
		// The mean is above, the interval is not: that is no claim to make.
		`{{claim "predictive.ttft_mean > 1100ms"}}slow`:     "**[does not hold: predictive.ttft_mean > 1100ms (1.20 ± 0.20 s)]** slow",
		`{{tie "predictive" "prequal" "ttft_p99"}}the same`: "**[does not hold: predictive ties with prequal by ttft_p99 (beats)]** the same",
	} {
		w := &words{book: p.book, here: p.book.all[0]}
		got, err := w.render(fstest.MapFS{"a.md": {Data: []byte(text)}}, "a.md")
		if err != nil || got != want {
			t.Errorf("%s\n got %s, %v\nwant %s", text, got, err, want)
		}
		if marked := strings.Contains(want, "does not hold"); marked != (len(w.broken) == 1) {
			t.Errorf("%s: broken are %q", text, w.broken)
		}
	}
}

func TestWordsThatNameWhatIsNotThereAreAnError(t *testing.T) {
	p := small(t)
	for text, want := range map[string]string{
		`{{of "prequel.ttft_p99"}}`:                            "did you mean prequal?",
		`{{of "prequal.ttft_p98"}}`:                            "did you mean ttft_p90?",
		`{{of "other: prequal.ttft_p99"}}`:                     "there are steady-06",
		`{{of "small@load=2: prequal.ttft_p99"}}`:              "no point load=2",
		`{{of "best_oracle.ttft_p99"}}`:                        "none to be the best",
		`{{claim "prequal.ttft_p99"}}`:                         "nothing is compared",
		`{{verdict "predictive" "prequel" "ttft_p99"}}`:        "did you mean prequal?",
		`{{across "small: prequal.ttft_p99" "prequal.error"}}`: "did you mean errors?",
	} {
		w := &words{book: p.book, here: p.book.all[0]}
		if _, err := w.render(fstest.MapFS{"a.md": {Data: []byte(text)}}, "a.md"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestVerdictsGoByTheInterval(t *testing.T) {
	base := []float64{10, 11, 12, 9, 10}
	for name, c := range map[string]struct {
		other []float64
		sign  float64
		want  verdict
	}{
		"the same":                   {[]float64{10, 11, 12, 9, 10}, 1, ties},
		"less each time":             {[]float64{11, 12.5, 13, 9.9, 11}, 1, wins},
		"less, where more is better": {[]float64{11, 12.5, 13, 9.9, 11}, -1, loses},
		"more each time":             {[]float64{9, 10, 10.9, 8.2, 9}, 1, loses},
		"now less, now more":         {[]float64{9, 12.5, 10.9, 9.9, 11}, 1, ties},
		"none at all":                {[]float64{0, 0, 0, 0, 0}, 1, loses},
	} {
		if got := judge(base, c.other, c.sign); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := judge([]float64{1}, []float64{2}, 1); got != ties {
		t.Errorf("one seed says nothing, and it %v", got)
	}
}

func TestAnExpectationOfAStudyThatWasNotPlayedHasNoRow(t *testing.T) {
	p := small(t)
	if row, err := (expectation{figure: "steady-06: predictive.ttft_p99", op: "<="}).row(p.book); row != "" || err != nil {
		t.Errorf("%q, %v", row, err)
	}
	for _, c := range []struct {
		bound float64
		want  string
	}{{0.5, "| met |"}, {0.4, "| **missed** |"}} {
		row, err := expectation{says: "half", figure: "small: predictive.ttft_p99 / prequal.ttft_p99", op: "<=", bound: c.bound}.row(p.book)
		if err != nil || !strings.HasSuffix(row, c.want) {
			t.Errorf("%s, %v: want %s", row, err, c.want)
		}
	}
	_, err := p.book.of(nil, "predictive.ttft_p99")
	if err == nil || errors.Is(err, errNotPlayed) {
		t.Errorf("a figure of no study: %v", err)
	}
}
