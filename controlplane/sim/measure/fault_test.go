package measure

import (
	"math"
	"testing"
)

// faulty met two faults: one was avoided in 3 s, the other never.
func faulty() *Result {
	r := recorder()
	r.Call(&Call{At: 20 * second, Asker: Asker{Tenant: "acme"}, Ending: Ending{Shed: "full"}})
	r.Call(&Call{At: 20 * second, Asker: Asker{Tenant: "acme"}, Ending: Ending{Failure: "timed_out"}})
	r.Turn(Turn{At: 30 * second, Endpoint: "a", Kind: "opened", Client: -1})
	r.Turn(Turn{At: 30 * second, Endpoint: "a", Kind: "opened", Client: 2})
	r.Turn(Turn{At: 35 * second, Endpoint: "a", Kind: "half_opened", Client: -1})
	result := r.Result()
	result.Faults = []Fault{
		{Endpoints: []string{"a"}, Avoided: 3 * second, Failed: 4, Returned: 8 * second},
		{Endpoints: []string{"b"}, Avoided: -1, Failed: 5, Returned: second},
	}
	result.Limits = Limits{ZeroTTFT: 81_000, PooledTTFT: 5_000}
	return result
}

func TestOfFaultsTheWorstIsTold(t *testing.T) {
	for name, want := range map[string]float64{
		"avoided": math.Inf(1), "returned": 8 * second, "fault_failures": 9, "trips": 1, "zero_ttft": 81_000, "pooled_ttft": 5_000,
		"sheds_full": 0.5, "sheds_limited": 0, "errors_timed_out": 0.5,
	} {
		m, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := m.Of(faulty(), Part{}); !ok || got != want {
			t.Errorf("%s: %g, want %g", name, got, want)
		}
	}
}

func TestWhatNeverCameFailsEveryBound(t *testing.T) {
	a, err := ParseAssertion("avoided < 1000s")
	if err != nil {
		t.Fatal(err)
	}
	if ok, found := a.Check([]*Result{faulty()}); ok || found != "predictive: never" {
		t.Errorf("%v: %s", ok, found)
	}
	if ok, found := a.Check(nil); ok || found != "there are no results" {
		t.Errorf("%v: %s", ok, found)
	}
}

func TestAThinResultAnswersTheSameOfEndpoints(t *testing.T) {
	r := recorder()
	for i := range int64(900) {
		r.Attempt(&Attempt{At: 20 * second, First: 20*second + i*i, End: 21*second + i*i, Place: 1, Served: true, Tokens: Tokens{Output: 10}})
	}
	whole, thin := r.Result(), r.Result()
	thin.Thin()
	for _, name := range []string{"ttft_p50", "ttft_p99", "ttft_p999", "ttft_max", "total_p95", "each_mean", "share"} {
		m, _ := Find(name)
		want, _ := m.Of(whole, Part{OfEndpoint, "b"})
		if got, ok := m.Of(thin, Part{OfEndpoint, "b"}); !ok || got != want {
			t.Errorf("%s: %g, want %g", name, got, want)
		}
	}
}

func TestAScalesValuesAreShort(t *testing.T) {
	for want, got := range map[string]string{"200 ms": Time.Short(200_000), "1 s": Time.Short(1_000_000), "0.2 %": Fraction.Short(0.002), "$1.2": USD.Short(1.2), "0": Plain.Short(0)} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestANumberInJSONHasSixFigures(t *testing.T) {
	for want, n := range map[string]Number{"0.333333": 1. / 3, "1234568": 1_234_567.8, "0": 0, "null": Number(math.NaN()), "12345.7": 12_345.67} {
		data, err := n.MarshalJSON()
		if err != nil || string(data) != want {
			t.Errorf("%s, want %s", data, want)
		}
	}
}
