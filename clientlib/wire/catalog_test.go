package wire

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/route/money"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// catalog is a small catalog for tests to change.
type catalog map[Key]proto.Message

func sample() catalog {
	weight, cap := int64(0), int64(5)
	rpm, input, output, daily := int64(60), int64(500), int64(100), int64(9000)
	return catalog{
		{pb.Kind_KIND_MODEL, "m"}: &pb.Model{
			Name: "m", Artifact: "m@1", Capabilities: []string{"chat", "stream"}, ContextWindow: 1000, MaxOutputTokens: 100, Retires: "1970-01-02",
			Price: &pb.Price{Input: 2, CachedInput: 1, Output: 8, Above: []*pb.PriceAbove{{InputTokens: 500, Input: 4, Output: 16}}},
		},
		{pb.Kind_KIND_PROVIDER, "p"}: &pb.Provider{Name: "p", Dialect: "openai", BaseUrl: "https://p.example/v1", ApiVersion: "1"},
		{pb.Kind_KIND_QUOTA, "q"}: &pb.Quota{
			Name: "q", RequestsPerMinute: &rpm, InputTokensPerMinute: &input, OutputTokensPerMinute: &output, RequestsPerDay: &daily,
			Refill: pb.Refill_REFILL_FIXED, OnCutoff: pb.OnCutoff_ON_CUTOFF_HOLD,
		},
		{pb.Kind_KIND_ENDPOINT, "a"}: &pb.Endpoint{
			Name: "a", Identity: 7, Provider: "p", Model: "m", WireModel: "w", Apis: []string{"openai.chat"}, Adapters: []string{"x"},
			Region: "eu/west", Quotas: []string{"q"}, Credential: "c", Compliance: []string{"hipaa"}, Weight: &weight,
			Capacity: &pb.Capacity{Slots: 64, PrefillTps: 12000, TpotUs: 18000},
			Breaker:  &pb.BreakerPolicy{WindowUs: 5, FailureRatio: 0.5},
		},
		{pb.Kind_KIND_ENDPOINT, "b"}: &pb.Endpoint{Name: "b", Provider: "p", Apis: []string{"http"}, Breaker: &pb.BreakerPolicy{}},
		{pb.Kind_KIND_WORKLOAD, "chat"}: &pb.Workload{
			Name: "chat", Apis: []string{"openai.chat"},
			Contract: &pb.Contract{Requires: []string{"stream"}, NeedsContext: 10, MaxTtftUs: 3, Regions: []string{"eu"}},
			Tiers:    []*pb.Tier{{Name: "first", Endpoints: []string{"a"}}},
			Balance:  &pb.Balance{Strategy: "p2c", MoneyPerMs: 2000}, Attempts: &pb.AttemptsPolicy{Max: 3, RetryRatio: 0.1, TotalUs: 9},
			Affinity: &pb.Affinity{On: "session", Rule: "median", Slack: 2.5}, EscalateOn: []string{"context", "quality"},
			Deliver: pb.Deliver_DELIVER_WHOLE, OnFilter: pb.OnFilter_ON_FILTER_ANOTHER,
		},
		{pb.Kind_KIND_WORKLOAD, "fx"}: &pb.Workload{
			Name: "fx", Tiers: []*pb.Tier{{Name: "all", Endpoints: []string{"b"}}},
			Balance: &pb.Balance{Strategy: "weighted"}, Attempts: &pb.AttemptsPolicy{Max: 1, TotalUs: 9},
		},
		{pb.Kind_KIND_TENANT, "acme"}: &pb.Tenant{
			Name: "acme", Workloads: []string{"chat"}, Priority: pb.Priority_PRIORITY_BATCH, Caps: &pb.Caps{Concurrency: &cap},
			Budget: &pb.Budget{
				NanoUsd: 7, Per: pb.BudgetPeriod_BUDGET_PERIOD_MONTH, Warn: 0.8, OnExhausted: pb.OnExhausted_ON_EXHAUSTED_CHEAPEST,
			},
			Reservations: []*pb.Reservation{{Quota: "q", RequestsPerMinute: &cap}, {Quota: "not-of-this-view"}},
		},
		{pb.Kind_KIND_TENANT, "every"}:     &pb.Tenant{Name: "every", Workloads: []string{"*"}},
		{pb.Kind_KIND_OVERRIDE, "drain/a"}: &pb.Override{Endpoint: "a", What: &pb.Override_Drain{Drain: &pb.Drain{}}, DurationUs: 30},
	}
}

func (c catalog) workload(name string) *pb.Workload {
	return c[Key{pb.Kind_KIND_WORKLOAD, name}].(*pb.Workload)
}
func (c catalog) endpoint(name string) *pb.Endpoint {
	return c[Key{pb.Kind_KIND_ENDPOINT, name}].(*pb.Endpoint)
}

// state encodes it, every row made at 100.
func (c catalog) state(t testing.TB) *State {
	t.Helper()
	entries := map[Key]Entry{}
	for k, m := range c {
		r := resource(t, k.Kind, k.Name, m)
		entries[k] = Entry{Body: r.Body, Hash: HashOf(r.Body), At: 100}
	}
	return NewState(catalogTrack, &pb.Version{StoreId: "s", Epoch: 1, Generation: 2, Revision: 3}, entries)
}

// broken replaces a resource's body by bytes that are no message.
func broken(s *State, keys ...Key) *State {
	entries := maps.Collect(s.All())
	for _, k := range keys {
		entries[k] = Entry{Body: []byte{0xff}, Hash: HashOf([]byte{0xff})}
	}
	return NewState(s.Track(), s.Version(), entries)
}

func TestCatalogJoinsAndResolves(t *testing.T) {
	got, unusable, err := Catalog(sample().state(t), false)
	if err != nil || len(unusable) > 0 {
		t.Fatal(unusable, err)
	}
	want := &route.Catalog{
		Version: route.CatalogVersion{StoreID: "s", Epoch: 1, Generation: 2, Revision: 3},
		Quotas: []route.Quota{{
			Name: "q", Requests: 60, Tokens: route.Absent, Input: 500, Output: 100, Daily: 9000, Fixed: true, Hold: true,
		}},
		Endpoints: []route.Endpoint{
			{
				Name: "a", Identity: 7, Provider: "p", Dialect: "openai", BaseURL: "https://p.example/v1", APIVersion: "1",
				Model: "m", WireModel: "w", Artifact: "m@1", APIs: []string{"openai.chat"}, Capabilities: []string{"chat", "stream"},
				Compliance: []string{"hipaa"}, Region: "eu/west", Credential: "c", Quotas: []string{"q"},
				ContextWindow: 1000, MaxOutputTokens: 100, Weight: 0, Concurrency: route.Absent,
				Retires: 24 * 3600 * 1_000_000, Capacity: route.Capacity{Slots: 64, PrefillTPS: 12000, TPOT: 18000},
				Price:   money.Price{Input: 2, CachedInput: 1, Output: 8, Above: []money.Above{{Tokens: 500, Input: 4, Output: 16}}},
				Breaker: breaker.Policy{Window: 5, FailureRatio: 0.5},
			},
			{
				Name: "b", Provider: "p", Dialect: "openai", BaseURL: "https://p.example/v1", APIVersion: "1", APIs: []string{"http"},
				Weight: route.Absent, Concurrency: route.Absent,
			},
		},
		Workloads: []route.Workload{
			{
				Name: "chat", APIs: []string{"openai.chat"},
				Contract: route.Contract{Requires: []string{"stream"}, NeedsContext: 10, MaxTTFT: 3, Regions: []string{"eu"}},
				Tiers:    []route.Tier{{Name: "first", Endpoints: []string{"a"}}}, Strategy: route.P2C, MoneyPerMS: 2000,
				Attempts: route.Attempts{Max: 3, RetryRatio: 0.1, Total: 9}, Affinity: route.Affinity{On: route.AffinitySession, Slack: 2.5},
				Whole: true, FilterElsewhere: true, EscalateQuality: true, EscalateContext: true,
			},
			{Name: "fx", Tiers: []route.Tier{{Name: "all", Endpoints: []string{"b"}}}, Strategy: route.Weighted, Attempts: route.Attempts{Max: 1, Total: 9}},
		},
		Tenants: []route.Tenant{
			{
				Name: "acme", Workloads: []string{"chat"}, Priority: route.PriorityBatch,
				Caps:         route.Caps{Concurrency: 5, Requests: route.Absent, Tokens: route.Absent},
				Budget:       route.Budget{Has: true, Limit: 7, PerMonth: true, Warn: 0.8, Cheapest: true},
				Reservations: []route.Reservation{{Quota: "q", Requests: 5, Tokens: route.Absent}},
			},
			{Name: "every", Workloads: []string{"*"}, Caps: route.NoCaps()},
		},
		Overrides: []route.Override{{Endpoint: "a", Drain: true, Weight: route.Absent, Until: 130}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// E6: what is not known makes one workload unusable, by name, and nothing else.
func TestWhatIsNotKnownMakesItsWorkloadUnusable(t *testing.T) {
	for name, test := range map[string]struct {
		change func(catalog)
		reason string
	}{
		"an affinity":        {func(c catalog) { c.workload("chat").Affinity.On = "mood" }, `affinity on "mood"`},
		"a rule of affinity": {func(c catalog) { c.workload("chat").Affinity.Rule = "mood" }, `affinity by rule "mood"`},
		"a rule without scores": {func(c catalog) {
			c.workload("chat").Affinity.Rule, c.workload("chat").Balance.Strategy = "score", "weighted"
		}, `affinity by rule "score" needs a strategy with scores, and weighted has none`},
		"no band":              {func(c catalog) { c.workload("chat").Balance = banded() }, "without bands"},
		"a model in no band":   {func(c catalog) { c.workload("chat").Balance = banded(&pb.Band{Name: "b", Models: []string{"n"}}) }, `no band has model "m" of endpoint "a"`},
		"bands out of order":   {func(c catalog) { c.workload("chat").Balance = banded(upto(9, "b"), upto(8, "c", "m")) }, `band "c" reaches less far`},
		"a band after the any": {func(c catalog) { c.workload("chat").Balance = banded(&pb.Band{Name: "b"}, upto(8, "c", "m")) }, `band "c" reaches less far`},
		"a band of nothing":    {func(c catalog) { c.workload("chat").Balance = banded(upto(0, "b", "m")) }, `band "b" reaches less far`},
		"an escalation":        {func(c catalog) { c.workload("chat").EscalateOn = []string{"quality", "mood"} }, `escalate_on "mood"`},
		"a strategy":           {func(c catalog) { c.workload("chat").Balance.Strategy = "psychic" }, `strategy "psychic"`},
		"no strategy":          {func(c catalog) { c.workload("chat").Balance = nil }, `strategy ""`},
		"a feature":            {func(c catalog) { c.workload("chat").NeedsFeatures = []string{"telepathy"} }, "telepathy"},
		"an enum of its own":   {func(c catalog) { c.workload("chat").Deliver = 9 }, "deliver 9"},
		"an enum it reaches":   {func(c catalog) { c[Key{pb.Kind_KIND_QUOTA, "q"}].(*pb.Quota).Refill = 9 }, `quota "q": refill 9`},
	} {
		c := sample()
		test.change(c)
		for _, cold := range []bool{false, true} {
			got, unusable, err := Catalog(c.state(t), cold)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if len(unusable) != 1 || unusable[0].Workload != "chat" || !strings.Contains(unusable[0].Reason, test.reason) {
				t.Errorf("%s: unusable %v", name, unusable)
			}
			if got.Workloads[0].Unusable == "" || got.Workloads[1].Unusable != "" {
				t.Errorf("%s: workloads %v", name, got.Workloads)
			}
		}
	}
}

func TestAnOverrideOfTheFutureIsIgnored(t *testing.T) {
	c := sample()
	c[Key{pb.Kind_KIND_OVERRIDE, "charm/a"}] = &pb.Override{Endpoint: "a"}
	got, unusable, err := Catalog(c.state(t), false)
	if err != nil || len(unusable) > 0 || len(got.Overrides) != 1 {
		t.Errorf("overrides %v, unusable %v, error %v", got.Overrides, unusable, err)
	}
}

func TestAnOverrideOfAnEndpointThatIsGoneStandsForNothing(t *testing.T) {
	c := sample()
	c[Key{pb.Kind_KIND_OVERRIDE, "drain/gone"}] = &pb.Override{Endpoint: "gone", What: &pb.Override_Drain{}}
	got, _, err := Catalog(c.state(t), false)
	if err != nil || len(got.Overrides) != 1 {
		t.Errorf("overrides %v, error %v", got.Overrides, err)
	}
}

func TestOverridesOfEachSort(t *testing.T) {
	for _, test := range []struct {
		o    *pb.Override
		want route.Override
	}{
		{&pb.Override{Endpoint: "a", What: &pb.Override_Drain{}}, route.Override{Endpoint: "a", Drain: true, Weight: route.Absent}},
		{&pb.Override{Endpoint: "a", What: &pb.Override_Weight{}}, route.Override{Endpoint: "a"}},
		{&pb.Override{Endpoint: "a", What: &pb.Override_Breaker{Breaker: &pb.ForcedBreaker{Open: true}}, DurationUs: 5},
			route.Override{Endpoint: "a", Forced: route.ForcedOpen, Weight: route.Absent, Until: 105}},
		{&pb.Override{Endpoint: "a", What: &pb.Override_Breaker{}}, route.Override{Endpoint: "a", Forced: route.ForcedClosed, Weight: route.Absent}},
	} {
		r, err := Override(test.o)
		if err != nil {
			t.Fatal(err)
		}
		got, known, fault := override(Key{r.Kind, r.Name}, Entry{Body: r.Body, At: 100})
		if diff := cmp.Diff(test.want, got); diff != "" || !known || fault != "" {
			t.Errorf("%v: known %v, fault %q, %s", test.o, known, fault, diff)
		}
	}
	if _, err := Override(&pb.Override{Endpoint: "a"}); err == nil {
		t.Error("an override that says nothing was encoded")
	}
}

// Rule 6: what cannot be right refuses a warm update, naming all of it; cold, it costs the
// workloads that reach it.
func TestWhatCannotBeRight(t *testing.T) {
	key := func(kind pb.Kind, name string) Key { return Key{kind, name} }
	for name, test := range map[string]struct {
		change func(catalog)
		broken []Key
		errors []string
		cold   []string // the workloads that are left usable
	}{
		"bodies that do not decode": {
			broken: []Key{key(pb.Kind_KIND_MODEL, "m"), key(pb.Kind_KIND_QUOTA, "q")},
			errors: []string{`model "m"`, `quota "q"`}, cold: []string{"fx"},
		},
		"a workload that does not decode":  {broken: []Key{key(pb.Kind_KIND_WORKLOAD, "fx")}, errors: []string{`workload "fx"`}, cold: []string{"chat"}},
		"an endpoint that does not decode": {broken: []Key{key(pb.Kind_KIND_ENDPOINT, "a")}, errors: []string{`endpoint "a"`}, cold: []string{"fx"}},
		"a provider for all":               {broken: []Key{key(pb.Kind_KIND_PROVIDER, "p")}, errors: []string{`provider "p"`}},
		"an override that does not decode": {broken: []Key{key(pb.Kind_KIND_OVERRIDE, "drain/a")}, errors: []string{`override "drain/a"`}, cold: []string{"fx"}},
		"references to nothing": {
			change: func(c catalog) {
				delete(c, key(pb.Kind_KIND_QUOTA, "q"))
				delete(c, key(pb.Kind_KIND_MODEL, "m"))
				delete(c, key(pb.Kind_KIND_ENDPOINT, "b"))
			},
			errors: []string{`endpoint "a": model "m" is not there; quota "q" is not there`, `workload "fx": endpoint "b" is not there`},
		},
		"an override of another": {
			change: func(c catalog) { c[key(pb.Kind_KIND_OVERRIDE, "drain/a")].(*pb.Override).Endpoint = "b" },
			errors: []string{`override "drain/a"`}, cold: []string{"fx"},
		},
		"a date that is none": {
			change: func(c catalog) { c[key(pb.Kind_KIND_MODEL, "m")].(*pb.Model).Retires = "2026-02-30" },
			errors: []string{`model "m": retires is "2026-02-30"`}, cold: []string{"fx"},
		},
		"a negative limit": {
			change: func(c catalog) { *c[key(pb.Kind_KIND_QUOTA, "q")].(*pb.Quota).RequestsPerDay = -1 },
			errors: []string{`quota "q": requests_per_day is -1`}, cold: []string{"fx"},
		},
		"a warning that is no number": {
			change: func(c catalog) { c[key(pb.Kind_KIND_TENANT, "acme")].(*pb.Tenant).Budget.Warn = math.NaN() },
			errors: []string{`tenant "acme": budget.warn is NaN`}, cold: []string{"chat", "fx"},
		},
		"another name inside":     {change: func(c catalog) { c.endpoint("a").Name = "z" }, errors: []string{"another name"}, cold: []string{"fx"}},
		"a negative number":       {change: func(c catalog) { *c.endpoint("a").Weight = -1 }, errors: []string{"weight is -1"}, cold: []string{"fx"}},
		"a negative number below": {change: func(c catalog) { c.workload("fx").Attempts.Max = -1 }, errors: []string{"attempts.max is -1"}, cold: []string{"chat"}},
		"no breaker policy":       {change: func(c catalog) { c.endpoint("b").Breaker = nil }, errors: []string{"no breaker policy"}, cold: []string{"chat"}},
		"no attempts policy":      {change: func(c catalog) { c.workload("fx").Attempts = nil }, errors: []string{"no attempts policy"}, cold: []string{"chat"}},
	} {
		c := sample()
		if test.change != nil {
			test.change(c)
		}
		s := broken(c.state(t), test.broken...)
		_, _, err := Catalog(s, false)
		for _, want := range test.errors {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v lacks %q", name, err, want)
			}
		}
		got, unusable, err := Catalog(s, true)
		if err != nil {
			t.Fatalf("%s, cold: %v", name, err)
		}
		for _, e := range got.Endpoints {
			if strings.Contains(fmt.Sprint(test.errors), fmt.Sprintf("endpoint %q:", e.Name)) || e.Dialect == "" {
				t.Errorf("%s, cold: endpoint %v is there", name, e)
			}
		}
		var left []string
		for _, w := range got.Workloads {
			if w.Unusable == "" {
				left = append(left, w.Name)
			}
		}
		if diff := cmp.Diff(test.cold, left); diff != "" || len(left)+len(unusable) != 2 {
			t.Errorf("%s, cold: usable %v, unusable %v", name, left, unusable)
		}
	}
}

func banded(bands ...*pb.Band) *pb.Balance {
	return &pb.Balance{Strategy: "cost_tiered", Bands: bands, PreferQuality: true}
}

func upto(tokens int64, name string, models ...string) *pb.Band {
	return &pb.Band{Name: name, UptoTokens: &tokens, Models: models}
}

func TestBandsAndRulesAreWhatTheCatalogSays(t *testing.T) {
	c := sample()
	c.workload("chat").Balance = banded(upto(800, "simple", "m", "n"), upto(800, "usual", "n"), &pb.Band{Name: "any", Models: []string{"m"}})
	c.workload("chat").Affinity.Rule, c.workload("chat").Affinity.Slack = "score", 1.25
	got, unusable, err := Catalog(c.state(t), false)
	if err != nil || len(unusable) > 0 {
		t.Fatalf("unusable %v, error %v", unusable, err)
	}
	w := got.Workloads[0]
	want := []route.Band{
		{Name: "simple", UptoTokens: 800, Models: []string{"m", "n"}}, {Name: "usual", UptoTokens: 800, Models: []string{"n"}},
		{Name: "any", UptoTokens: route.Absent, Models: []string{"m"}},
	}
	if diff := cmp.Diff(want, w.Bands); diff != "" || !w.PreferQuality || w.Strategy != route.CostTiered {
		t.Errorf("%+v: %s", w, diff)
	}
	if diff := cmp.Diff(route.Affinity{On: route.AffinitySession, Rule: route.AffinityScore, Slack: 1.25}, w.Affinity); diff != "" {
		t.Error(diff)
	}
	if _, err := route.Compile(nil, got, nil, route.Local{}); err != nil {
		t.Error(err)
	}
}

// All that the language has.
func TestStrategiesAreKnownByTheirNames(t *testing.T) {
	for _, name := range []string{
		"p2c", "least_loaded", "least_tokens", "weighted_least_latency", "weighted", "latency_weighted", "quota_aware", "round_robin", "hash",
		"predictive", "cost_tiered",
	} {
		c := sample()
		c.workload("fx").Balance = &pb.Balance{Strategy: name, Bands: []*pb.Band{{Name: "all", Models: []string{c.endpoint("b").GetModel()}}}}
		got, _, err := Catalog(c.state(t), false)
		if err != nil || got.Workloads[1].Strategy.String() != name {
			t.Errorf("%s is %v, error %v", name, got.Workloads[1].Strategy, err)
		}
	}
	for _, name := range []string{"psychic", "none"} {
		c := sample()
		c.workload("fx").Balance.Strategy = name
		if got, _, _ := Catalog(c.state(t), false); !strings.Contains(got.Workloads[1].Unusable, name) {
			t.Errorf("%s: unusable %q", name, got.Workloads[1].Unusable)
		}
	}
}

func TestAModelRetiresWithTheBeginningOfItsDate(t *testing.T) {
	for date, want := range map[string]int64{
		"": 0, "2027-04-14": 1_807_660_800_000_000, "1970-01-01": 1, "1066-10-14": 1, // past, and not never
		"14.4.2027": 0, "2027-4-14": 0, "2027-04-14T00:00:00Z": 0, // which are faults
	} {
		if got := retires(date); got != want {
			t.Errorf("%q: %d, want %d", date, got, want)
		}
	}
}

func TestEveryPriorityIsWhatItIsCalled(t *testing.T) {
	for p, want := range map[pb.Priority]route.Priority{
		pb.Priority_PRIORITY_UNSPECIFIED: route.PriorityInteractive, pb.Priority_PRIORITY_INTERACTIVE: route.PriorityInteractive,
		pb.Priority_PRIORITY_STANDARD: route.PriorityStandard, pb.Priority_PRIORITY_BATCH: route.PriorityBatch,
	} {
		if got := priority(p); got != want {
			t.Errorf("%v is %d, want %d", p, got, want)
		}
	}
}

func TestATenantThatCannotBeUsedAsWrittenIsEntitledToNothing(t *testing.T) {
	want := []route.Tenant{{Name: "acme", Caps: route.NoCaps()}, {Name: "every", Workloads: []string{"*"}, Caps: route.NoCaps()}}
	later := sample()
	later[Key{pb.Kind_KIND_TENANT, "acme"}].(*pb.Tenant).Priority = 9
	for name, s := range map[string]*State{
		"a body that does not decode":     broken(sample().state(t), Key{pb.Kind_KIND_TENANT, "acme"}),
		"a priority that nobody here has": later.state(t),
	} {
		got, _, err := Catalog(s, true)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Tenants); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// What one quota says that is not known here costs those who draw on it, and nobody else.
func TestAQuotaThatCannotBeUsedIsLeftOutWithItsReservations(t *testing.T) {
	c := sample()
	c[Key{pb.Kind_KIND_QUOTA, "q"}].(*pb.Quota).OnCutoff = 9
	got, _, err := Catalog(c.state(t), false)
	if err != nil || len(got.Quotas) > 0 || len(got.Tenants[0].Reservations) > 0 || len(got.Endpoints) != 1 {
		t.Errorf("%+v, error %v", got, err)
	}
}

// The core takes whatever was decoded, of a whole catalog or of a view.
func TestWhatIsDecodedCompiles(t *testing.T) {
	s := sample().state(t)
	for _, sel := range []Selector{{All: true}, {Workloads: []string{"chat"}}, {Workloads: []string{"fx"}}} {
		view := NewState(catalogTrack, gen(1), Closure(s, sel))
		c, _, err := Catalog(view, false)
		if err == nil {
			_, err = route.Compile(nil, c, nil, route.Local{})
		}
		if err != nil {
			t.Errorf("%v: %v", sel, err)
		}
	}
}

// Whichever field of whichever resource is not there, at any depth: nothing panics, and a catalog that
// cannot be used for that is refused by the name of what lacks it.
func TestAnyFieldMayBeMissing(t *testing.T) {
	missing := 0
	for key := range sample() {
		for n := 0; ; n++ {
			c := sample()
			if left := n; !lose(c[key].ProtoReflect(), &left) {
				break
			}
			missing++
			for _, cold := range []bool{false, true} {
				got, _, err := Catalog(c.state(t), cold)
				if err == nil {
					_, err = route.Compile(nil, got, nil, route.Local{})
				}
				if err != nil && !strings.Contains(err.Error(), `"`) {
					t.Errorf("%v without its field %d: %v", key, n, err)
				}
			}
		}
	}
	if missing < 90 {
		t.Errorf("only %d fields were left out", missing)
	}
}

// lose clears the nth field that is set in m or below it; false: there are not so many.
func lose(m protoreflect.Message, n *int) (found bool) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if *n--; *n < 0 {
			m.Clear(f)
			found = true
		} else if f.Message() != nil && !f.IsList() {
			found = lose(v.Message(), n)
		} else if f.Message() != nil {
			for i := 0; i < v.List().Len() && !found; i++ {
				found = lose(v.List().Get(i).Message(), n)
			}
		}
		return !found
	})
	return found
}

func TestAClosureHoldsWhatItsWorkloadsReach(t *testing.T) {
	c := sample()
	c[Key{pb.Kind_KIND_TENANT, "late"}] = &pb.Tenant{Name: "late", Workloads: []string{"none"}}
	s := c.state(t)
	for _, test := range []struct {
		sel  Selector
		want []string
	}{
		{Selector{Workloads: []string{"chat"}}, []string{"m", "p", "q", "a", "chat", "acme", "every", "drain/a"}},
		{Selector{Workloads: []string{"fx", "none"}}, []string{"p", "b", "fx", "every"}}, // "late" may only use what is not there
		{Selector{}, nil},
		{Selector{All: true}, names(s)},
	} {
		got := NewState(catalogTrack, gen(1), Closure(s, test.sel))
		if diff := cmp.Diff(test.want, names(got)); diff != "" {
			t.Errorf("%v: %s", test.sel, diff)
		}
	}
}

// Without a tenant in it a view would say that everybody is entitled.
func TestAClosureLeavesOutWhatNoTenantMayUse(t *testing.T) {
	c := sample()
	delete(c, Key{pb.Kind_KIND_TENANT, "every"})
	got := Closure(c.state(t), Selector{Workloads: []string{"fx"}})
	if len(got) > 0 {
		t.Errorf("holds %v", slices.Collect(maps.Keys(got)))
	}
	delete(c, Key{pb.Kind_KIND_TENANT, "acme"})
	if got := Closure(c.state(t), Selector{Workloads: []string{"fx"}}); len(got) != 3 {
		t.Errorf("with no tenant declared it holds %v", slices.Collect(maps.Keys(got)))
	}
}

func TestAClosurePassesOnWhatDoesNotDecode(t *testing.T) {
	s := broken(sample().state(t), Key{pb.Kind_KIND_ENDPOINT, "a"})
	got := NewState(catalogTrack, gen(1), Closure(s, Selector{Workloads: []string{"chat"}}))
	if diff := cmp.Diff([]string{"a", "chat", "acme", "every", "drain/a"}, names(got)); diff != "" {
		t.Error(diff)
	}
}

func TestAFleetClosureFollowsTheCatalogView(t *testing.T) {
	row := func(kind pb.Kind, name string) *pb.Resource { return &pb.Resource{Kind: kind, Name: name} }
	fleet := stateOf(fleetTrack, gen(1),
		row(pb.Kind_KIND_FLEET_ENDPOINT, "a"), row(pb.Kind_KIND_FLEET_ENDPOINT, "b"), row(pb.Kind_KIND_FLEET_INSTANCES, "a"),
		row(pb.Kind_KIND_FLEET_WORKLOAD, "chat"), row(pb.Kind_KIND_FLEET_WORKLOAD, "a"))
	view := NewState(catalogTrack, gen(1), Closure(sample().state(t), Selector{Workloads: []string{"chat"}}))
	got := NewState(fleetTrack, gen(1), FleetClosure(fleet, view))
	if diff := cmp.Diff([]string{"a", "chat", "a"}, names(got)); diff != "" {
		t.Error(diff)
	}
}

func TestSelectorsThatWantTheSameHaveOneKey(t *testing.T) {
	a := Selector{Workloads: []string{"y", "x", "x"}}
	if a.Key() != (Selector{Workloads: []string{"x", "y"}}).Key() || a.Key() == (Selector{All: true}).Key() || a.Key() == (Selector{}).Key() {
		t.Errorf("key %q", a.Key())
	}
}

// Views are shared by key: with an equal one, a name that somebody made up would empty the
// view of others.
func TestSelectorsThatWantOtherThingsHaveOtherKeys(t *testing.T) {
	seen := map[string]string{}
	for name, s := range map[string]Selector{
		"all": {All: true}, "none": {}, "star": {Workloads: []string{"*"}}, "no name": {Workloads: []string{""}},
		"two": {Workloads: []string{"a", "b"}}, "a comma": {Workloads: []string{"a,b"}},
		"a space": {Workloads: []string{"a b"}}, "quotes": {Workloads: []string{`a" "b`}},
	} {
		if other, taken := seen[s.Key()]; taken {
			t.Errorf("%s and %s have one key, %s", name, other, s.Key())
		}
		seen[s.Key()] = name
	}
}
