package measure

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const second = 1_000_000

func recorder() *Recorder {
	return New(Plan{Policy: "predictive", Seed: 1, Warmup: 10 * second, Duration: 60 * second, Bins: 6, Endpoints: []string{"a", "b"}})
}

func served(at int64, tenant string, ttft int64) *Call {
	return &Call{At: at, Sent: at + 1000, First: at + ttft, End: at + ttft + 99_000, Attempts: 1,
		Asker: Asker{"chat", tenant}, Ending: Ending{Served: true}, Tokens: Tokens{Input: 1000, Cached: 250, Output: 100}}
}

func TestEveryCallIsServedOrShedOrFailedOrLate(t *testing.T) {
	r := recorder()
	r.Call(served(20*second, "acme", second))
	r.Call(&Call{At: 21 * second, End: 21 * second, Asker: Asker{Workload: "chat"}, Ending: Ending{Shed: "full"}})
	r.Call(&Call{At: 22 * second, End: 30 * second, Attempts: 3, Asker: Asker{Workload: "chat"}, Ending: Ending{Failure: "timed_out"}})
	r.Call(&Call{At: 23 * second, End: 30 * second, Attempts: 1, Asker: Asker{Workload: "batch"}, Ending: Ending{Late: true}})
	m := r.Result().All
	if m.Calls != 4 || m.Served != 1 || m.Sheds["full"] != 1 || m.Failures["timed_out"] != 1 || m.Late != 1 || m.Retries != 2 {
		t.Errorf("%+v", m)
	}
}

func TestTheWarmUpIsOnlyInTheBins(t *testing.T) {
	r := recorder()
	r.Call(served(9*second, "", second))
	r.Call(served(10*second, "", second))
	r.Attempt(&Attempt{At: 9 * second, Place: 1, Served: true, Cost: 7})
	r.Attempt(&Attempt{At: 11 * second, Place: 1, Served: true, Cost: 5})
	got := r.Result()
	if got.All.Calls != 1 || got.By.Endpoints[1].Calls != 1 || got.All.Cost != 5 {
		t.Errorf("%+v", got.All)
	}
	if got.Bins[0].Calls != 1 || got.Bins[1].Calls != 1 || got.Bins[0].Attempts[1] != 1 {
		t.Errorf("%+v", got.Bins[:2])
	}
}

func TestAViolationInTheWarmUpIsOneToo(t *testing.T) {
	r := recorder()
	r.Attempt(&Attempt{At: second, Place: 0, Violation: true, Asker: Asker{Workload: "chat"}})
	if got := r.Result(); got.All.Violations != 1 || got.By.Endpoints[0].Violations != 1 || got.By.Endpoints[0].Calls != 0 {
		t.Errorf("%+v", got.All)
	}
}

func TestWhatComesAfterTheDurationHasBinsOfItsOwn(t *testing.T) {
	r := recorder()
	r.Attempt(&Attempt{At: 75 * second, Place: 0})
	r.Attempt(&Attempt{At: 7500 * second, Place: 0})
	bins := r.Result().Bins
	if len(bins) != 18 || bins[7].Attempts[0] != 1 || bins[17].Attempts[0] != 1 {
		t.Errorf("%+v", bins)
	}
}

func TestCountingAllocatesNothingOnceNamesAreKnown(t *testing.T) {
	r := recorder()
	call, attempt := served(20*second, "acme", second), &Attempt{
		At: 20 * second, First: 21 * second, End: 22 * second, Place: 1, Served: true, Asker: Asker{"chat", "acme"}, Tokens: Tokens{Output: 50},
	}
	failed := &Call{At: 20 * second, Asker: Asker{"chat", "acme"}, Ending: Ending{Failure: "faulted"}}
	if n := testing.AllocsPerRun(100, func() { r.Call(call); r.Call(failed); r.Attempt(attempt) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func TestFiguresOfAResult(t *testing.T) {
	r := recorder()
	for i := range int64(100) {
		r.Call(served((11+i%40)*second, "acme", (i+1)*10_000))
	}
	r.Attempt(&Attempt{At: 20 * second, Place: 0, Served: true, Cost: 2_500_000_000, Asker: Asker{Workload: "chat", Tenant: "acme"}})
	r.Attempt(&Attempt{At: 20 * second, Place: 1, Outcome: "faulted", Asker: Asker{Workload: "chat", Tenant: "acme"}})
	result := r.Result()
	for name, want := range map[string]float64{
		"ttft_mean": 505_000, "ttft_p50": 500_000, "ttft_p99": 990_000, "ttft_max": second, "queue_p50": 1000, "each_p50": 1000,
		"served": 100, "goodput": 2, "goodput_tokens": 200, "hit_rate": 0.25, "cost": 2.5, "cost_per_1000": 25, "errors": 0, "validity": 1,
		"fairness": 1, "worst_slowdown": 1, "share": 1,
	} {
		m, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := m.Of(result, Part{}); math.Abs(got-want) > 0.004*want {
			t.Errorf("%s: %g, want %g", name, got, want)
		}
	}
	m, _ := Find("share")
	if got, ok := m.Of(result, Part{OfEndpoint, "b"}); !ok || got != 0.5 {
		t.Errorf("share of b: %g", got)
	}
	if m, _ = Find("errors_faulted"); m.Name != "errors_faulted" {
		t.Error(m)
	}
	if got, ok := m.Of(result, Part{OfEndpoint, "b"}); !ok || got != 1 {
		t.Errorf("errors of b: %g", got)
	}
	if _, ok := m.Of(result, Part{OfTenant, "nobody"}); ok {
		t.Error("nobody has errors")
	}
}

func TestWhoServesNobodyIsNeitherFastNorCheap(t *testing.T) {
	r := recorder()
	r.Call(&Call{At: 21 * second, End: 21 * second, Asker: Asker{Workload: "chat"}, Ending: Ending{Shed: "full"}})
	nobody := r.Result()
	none := recorder().Result()
	for text, runs := range map[string][]*Result{
		"ttft_p99 < 2s": {nobody}, "total_mean < 1s": {nobody}, "ttft_max <= 1s": {nobody}, "cost_per_1000 < $1": {nobody}, "validity <= 100%": {nobody},
		"errors <= 1%": {none}, "errors_timed_out <= 1%": {none}, "predictive.ttft_p99 < predictive.total_p99": {nobody},
	} {
		a, err := ParseAssertion(text)
		if err != nil {
			t.Fatal(err)
		}
		if ok, found := a.Check(runs); ok || !strings.Contains(found, "nothing to judge by") {
			t.Errorf("%s: %v, %s", text, ok, found)
		}
	}
}

func TestNobodyGoesElsewhereForAFaultOfTheControlPlane(t *testing.T) {
	result := recorder().Result()
	result.Faults = []Fault{{Name: "away", Avoided: -1, Returned: -1}, {Name: "slow", Endpoints: []string{"a"}, Avoided: 7, Returned: 9}}
	for name, want := range map[string]float64{"avoided": 7, "returned": 9} {
		m, _ := Find(name)
		if got, _ := m.Of(result, Part{}); got != want {
			t.Errorf("%s: %g, want %g", name, got, want)
		}
	}
}

func TestATenantThatIsServedHalfAsFastIsSeen(t *testing.T) {
	r := recorder()
	for i := range int64(100) {
		fast, slow := served((11+i%40)*second, "fast", 100_000), served((11+i%40)*second, "slow", 400_000)
		fast.Alone, slow.Alone = 50_000, 100_000
		r.Call(fast)
		r.Call(slow)
	}
	got := r.Result()
	if math.Abs(got.worstSlowdown()-4) > 1e-9 || math.Abs(got.fairness()-0.75*0.75/2/(0.25+0.0625)) > 1e-9 {
		t.Errorf("slowdown %g, fairness %g", got.worstSlowdown(), got.fairness())
	}
	r.Call(&Call{At: 20 * second, Asker: Asker{Tenant: "never"}, Ending: Ending{Shed: "full"}})
	if got := r.Result(); !math.IsInf(got.worstSlowdown(), 1) || got.fairness() > 0.61 {
		t.Errorf("slowdown %g, fairness %g", got.worstSlowdown(), got.fairness())
	}
}

func TestAResultIsTheSameBytesTwice(t *testing.T) {
	encode := func() string {
		r := recorder()
		r.Call(served(20*second, "acme", second/3))
		r.Attempt(&Attempt{At: 20 * second, Place: 1, Served: true, Cost: 1_234_567_890})
		for _, kind := range []string{"full", "limited", "region", "budget"} {
			r.Call(&Call{At: 20 * second, Ending: Ending{Shed: kind}})
		}
		r.Turn(Turn{At: 30 * second, Endpoint: "a", Kind: "opened", Client: -1})
		result := r.Result()
		result.Faults = []Fault{{Name: "slow", Avoided: -1}}
		data, err := json.MarshalIndent(result, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	got := encode()
	for range 20 {
		if diff := cmp.Diff(got, encode()); diff != "" {
			t.Fatal(diff)
		}
	}
	for _, want := range []string{`"cost_usd": 1.23456789`, `"mean": 333333`, `"avoided_us": null`, `"worst_slowdown": null`, `"ttft_us": null`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
}
