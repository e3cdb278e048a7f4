package route_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

// full has every block of a catalog and a fleet, each with something right in it.
func full() (*route.Catalog, *route.Fleet) {
	s := newStage()
	s.declare(parse("endpoint a quotas=q price=1/2"))
	s.declare(parse("endpoint b"))
	s.declare(parse("workload w tiers=t:a,b money_per_ms=5"))
	c := &s.catalog
	c.Endpoints[0].Price.Above = []money.Above{{Tokens: 5, Input: 2}}
	c.Endpoints[0].Capacity = route.Capacity{Slots: 8, PrefillTPS: 100, TPOT: 100}
	c.Workloads[0].Affinity = route.Affinity{On: route.AffinityTenant, Slack: 2.5}
	c.Quotas = []route.Quota{{Name: "q", Requests: 10, Tokens: 100, Input: 50, Output: 50, Daily: 1000}}
	c.Tenants = []route.Tenant{{
		Name: "default", Workloads: []string{"*"}, Caps: route.Caps{Concurrency: 9, Requests: 100, Tokens: 1000},
		Budget: route.Budget{Has: true, Limit: 5, Warn: 0.8}, Reservations: []route.Reservation{{Quota: "q", Requests: 2, Tokens: 20}},
	}}
	c.Overrides = []route.Override{{Endpoint: "b", Weight: 5}}
	return c, &route.Fleet{
		Endpoints: []route.FleetEndpoint{{
			Name: "a", Identity: 1, At: sec, Speed: 1,
			Breakers: []route.FleetBreaker{{Class: breaker.Any, State: route.FleetRamp, Round: 1, OpenUntil: sec, RampFrom: sec, RampFor: sec, RampSuccesses: 5}},
			Loads:    []route.FleetLoad{{InFlight: 1, PendingPromptTokens: 2, OutstandingTokens: 3, Successes: 4, Samples: 5, Slowdown: 1, SlowdownSamples: 6}},
		}},
		Workloads: []route.FleetWorkload{{Name: "w", At: sec, RetryFactor: 0.5}},
	}
}

// leaves calls f with each number below v, and its name as errors have it.
func leaves(v reflect.Value, name string, f func(string, reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer:
		leaves(v.Elem(), name, f)
	case reflect.Slice:
		for i := range v.Len() {
			leaves(v.Index(i), name, f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			leaves(v.Field(i), strings.TrimPrefix(name+"."+snake(v.Type().Field(i).Name), "."), f)
		}
	case reflect.Int64, reflect.Uint64, reflect.Uint8, reflect.Float64:
		f(name, v)
	}
}

// snake is a Go name as catalogs have it: MoneyPerMS is money_per_ms.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 && (unicode.IsLower(rune(name[i-1])) || i+1 < len(name) && unicode.IsLower(rune(name[i+1]))) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func absurd(v reflect.Value) []any {
	switch v.Kind() {
	case reflect.Float64:
		return []any{math.NaN(), math.Inf(1), math.Inf(-1), -1.0, 1e300}
	case reflect.Uint64:
		return []any{uint64(math.MaxUint64)}
	case reflect.Uint8:
		return []any{uint8(200)}
	}
	return []any{int64(math.MinInt64), int64(-2), int64(math.MaxInt64)}
}

// anything is what has no absurd value: it is only compared, or a time on a clock that may
// begin before or after it, or the word of a newer leader, which is passed over.
var anything = []string{"identity", "epoch", "generation", "revision", "term", "sequence", "round", "at", "until", "open_until", "ramp_from", "class", "state"}

func TestWhatIsAbsurdIsRefusedByTheNameOfItsField(t *testing.T) {
	c, f := full()
	compile(t, nil, c, f)
	for _, of := range []any{c, f} {
		leaves(reflect.ValueOf(of), "", func(name string, v reflect.Value) {
			was := reflect.ValueOf(v.Interface())
			for _, x := range absurd(v) {
				v.Set(reflect.ValueOf(x).Convert(v.Type()))
				refuses(t, c, f, name, x)
			}
			v.Set(was)
		})
	}
}

func refuses(t *testing.T, c *route.Catalog, f *route.Fleet, name string, x any) {
	t.Helper()
	field := name[strings.LastIndexByte(name, '.')+1:]
	s, err := route.Compile(nil, c, f, route.Local{Wall: wall})
	switch {
	case err == nil && (slices.Contains(anything, field) || field == "retires" && x == any(int64(math.MaxInt64))):
		survives(s)
	case err == nil:
		t.Errorf("%s = %v is taken", name, x)
		survives(s)
	case !strings.Contains(err.Error(), field):
		t.Errorf("%s = %v: %v", name, x, err)
	}
}

// survives uses a snapshot for all that there is: nothing may panic.
func survives(s *route.Snapshot) {
	r := route.NewRouter()
	r.Apply(sec, s)
	for i := range uint32(20) {
		now := sec * int64(1+i)
		call := r.Begin(now, "w", route.Request{Stream: i%2 == 0, Input: 10, MaxOutput: 10})
		step := r.Next(now, i, &call)
		r.FirstToken(now+1, step.Attempt)
		r.Settle(now+2, step.Attempt, randomOutcome(&dice{seed: i}, i%3 == 0))
		r.Tick(now + 3)
		r.Explain(now+3, "w", route.Request{})
		r.Endpoints(now+3, nil)
	}
	r.Report(100 * sec)
}

func TestAnAbsurdRequestIsRefusedByTheNameOfItsField(t *testing.T) {
	l := newLoad(t, route.P2C, 16)
	for _, c := range []struct {
		field   string
		request route.Request
	}{
		{"input", route.Request{Input: -1}}, {"input", route.Request{Input: math.MaxInt64}}, {"input", route.Request{Input: math.MinInt64}},
		{"max_output", route.Request{MaxOutput: -1}}, {"max_output", route.Request{MaxOutput: math.MaxInt64}},
		{"deadline", route.Request{Deadline: -1}}, {"attempts", route.Request{Attempts: -1}}, {"attempts", route.Request{Attempts: math.MinInt64}},
	} {
		call := l.router.Begin(l.now, "w", c.request)
		if step := l.router.Next(l.now, 1, &call); step.Err == nil || !strings.Contains(step.Err.Error(), c.field) {
			t.Errorf("%+v: %v", c.request, step.Err)
		}
	}
}

// What an outcome says is never so absurd that what is counted stops making sense.
func TestAnAbsurdOutcomeMovesNothingOutOfRange(t *testing.T) {
	for _, o := range []route.Outcome{
		{Kind: 200}, {Kind: route.Served, HasUsage: true, Usage: money.Usage{Input: -5, Cached: 9, Written: -1, Output: -7}},
		{Kind: route.Served, HasUsage: true, Usage: money.Usage{Input: math.MaxInt64, Cached: math.MaxInt64, Written: math.MaxInt64, Output: math.MaxInt64}},
		{Kind: route.Limited, RetryAfter: math.MaxInt64}, {Kind: route.Faulted, RetryAfter: math.MaxInt64, Status: math.MinInt}, {Kind: route.Limited, RetryAfter: math.MinInt64},
	} {
		c, f := full()
		r := route.NewRouter()
		r.Apply(sec, compile(t, nil, c, f))
		call := r.Begin(sec, "w", route.Request{Input: 10})
		if !r.Settle(2*sec, r.Next(sec, 1, &call).Attempt, o) {
			t.Fatal("nothing was settled")
		}
		for _, row := range r.Report(2 * sec).Rows {
			if row.Cost < 0 || row.InFlight != 0 || row.OutstandingTokens != 0 {
				t.Errorf("%+v: %+v", o, row)
			}
		}
		again := r.Begin(3*sec, "w", route.Request{Input: 10})
		r.Next(3*sec, 2, &again)
		for _, v := range r.Explain(3*sec, "w", route.Request{Input: 10}).Candidates {
			if !(v.Score >= 0 && v.Score < 1e15 && v.Time >= 0) {
				t.Errorf("%+v: %+v", o, v)
			}
		}
		if err := fmt.Sprint(r.Next(3*sec, 3, &call).Err); strings.Contains(err, "bug") {
			t.Errorf("%+v: %s", o, err)
		}
	}
}
