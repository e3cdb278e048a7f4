package measure

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// runs are two policies with two seeds: b takes twice as long as a.
func runs() (all []*Result) {
	for i, policy := range []string{"a", "a", "b-2", "b-2"} {
		r := New(Plan{Policy: policy, Seed: uint64(i % 2), Duration: 60 * second, Endpoints: []string{"gpu"}})
		ttft := int64(1+i/2) * int64(second+i%2*second/10)
		r.Call(served(10*second, "acme corp", ttft))
		r.Attempt(&Attempt{At: 10 * second, Served: true, Cost: 1_500_000_000, Asker: Asker{Tenant: "acme corp"}})
		all = append(all, r.Result())
	}
	return all
}

func TestWhatAssertionsFind(t *testing.T) {
	for text, want := range map[string]string{
		"a.ttft_p99 < 2s":                                       "holds: 1.05 ± 0.64 s",
		"a.ttft_mean<=1050ms":                                   "holds: 1.05 ± 0.64 s",
		"a.ttft_mean<1050 ms":                                   "fails: 1.05 ± 0.64 s",
		"b-2.ttft_p99 > 2s":                                     "holds: 2.10 ± 1.27 s",
		"b-2.ttft_mean / a.ttft_mean == 2":                      "holds: 2.00",
		"b-2.ttft_mean / a.ttft_mean <= 200.1%":                 "holds: 2.00",
		"a.ttft_p99 < b-2.ttft_p99":                             "holds: 1.05 ± 0.64 s, and 2.10 ± 1.27 s",
		`a.tenant."acme corp".ttft_p99 < 900000us`:              "fails: 1.05 ± 0.64 s",
		`a.tenant.acme.ttft_p99 < 2s`:                           `fails: a had no calls of tenant "acme"`,
		"a.cost == 1.5USD":                                      "holds: $1.50",
		"a.cost < $1.50":                                        "fails: $1.50",
		"ttft_p99 < 2s":                                         "fails: b-2: 2.10 ± 1.27 s",
		"violations == 0":                                       "holds: 0, for all 2",
		"a.errors <= 0.2%":                                      "holds: 0 %",
		"a.endpoint.gpu.share >= 100%":                          "holds: 100 %",
		"b.ttft_p99 < 2s":                                       `fails: no policy "b" was played: did you mean a?`,
		"a.errors / b-2.errors < 1":                             "fails: -: nothing to judge by",
		"a.avoided < 30s":                                       "holds: 0 s",
		"a.workload.chat.goodput / b-2.workload.chat.goodput>0": "holds: 1.00",
	} {
		a, err := ParseAssertion(text)
		if err != nil {
			t.Error(err)
			continue
		}
		ok, found := a.Check(runs())
		if got := map[bool]string{true: "holds: ", false: "fails: "}[ok] + found; got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestAnAssertionThatIsWrongIsToldHowToPutItRight(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "nothing is compared",
		"a.ttft_p99":                      "nothing is compared",
		"a.ttft_p99 < ":                   `"" is no value`,
		"a.ttft_p99 < 2":                  "want one as in 800ms or 2s",
		"a.errors < 2s":                   "want one as in 0.2%",
		"a.ttft_p9 < 2s":                  `no metric "ttft_p9": did you mean ttft_p9`,
		"a.speed < 2s":                    "no metric \"speed\"",
		"a.tenat.acme.ttft_p99 < 2s":      "did you mean tenant?",
		"a.b.ttft_p99 < 2s":               "no parts by \"a\": there are workload, tenant, endpoint",
		"a.tenant.x.fairness < 1":         "of the whole only",
		"a.tenant.x.y.ttft_p99 < 1s":      "has 5 parts",
		"a.ttft_p99 / b.errors < 1":       "not of one kind",
		"a.ttft_p99 < b.errors":           "not of one kind",
		"a.ttft_p99/b.ttft_p99/c.x < 1":   "more than one /",
		`a.tenant."x.ttft_p99 < 1s`:       "nothing is compared",
		`"a.ttft_p99 / b.ttft_p99" < NaN`: "no metric",
		"a..ttft_p99 < 2s":                "a name is missing",
		"a b.ttft_p99 < 2s":               "double quotes",
		"a.ttft_p99 < 2 fortnights":       "is no value",
	} {
		if _, err := ParseAssertion(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestAnAssertionSaysWhomItIsOf(t *testing.T) {
	a, err := ParseAssertion(`x.tenant."a b".ttft_p99/y.ttft_p99   <  2`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"x", "y"}, a.Policies()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Part{{OfTenant, "a b"}}, a.Parts()); diff != "" {
		t.Error(diff)
	}
	if a.String() != `x.tenant."a b".ttft_p99/y.ttft_p99 < 2` {
		t.Error(a)
	}
}

func TestEveryMetricHasANameAndAMeaningOfItsOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Metrics() {
		if seen[m.Name] || m.Means == "" || !slices.Contains([]Unit{Plain, Count, Time, Fraction, Rate, USD}, m.Unit) {
			t.Errorf("%+v", m)
		}
		seen[m.Name] = true
		if _, ok := m.Of(runs()[0], Part{}); !ok {
			t.Errorf("%s: not of a run", m.Name)
		}
	}
}

func TestValuesForPeopleHaveThreeFiguresThatMatter(t *testing.T) {
	for want, got := range map[string]string{
		"1.43 s": Time.Text(1_432_100), "820 ms": Time.Text(820_400), "12.0 us": Time.Text(12), "128 s": Time.Text(128_300_000), "1.00 s": Time.Text(999_700),
		"0.21 %": Fraction.Text(0.0021), "100 %": Fraction.Text(1), "$0.00123": USD.Text(0.00123), "$1235": USD.Text(1234.6), "60000": Count.Text(60_000), "104/s": Rate.Text(104.2),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func FuzzParseAssertion(f *testing.F) {
	for _, text := range []string{"a.ttft_p99 < 2s", `a.tenant."x y".cost/b.cost<=0.5`, "violations == 0", "a.sheds_full >= 1%"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAssertion(text)
		if err != nil {
			return
		}
		again, err := ParseAssertion(a.String())
		if err != nil || again.String() != a.String() {
			t.Errorf("%q is read, and %q not: %v", text, a, err)
		}
		a.Check(runs())
	})
}
