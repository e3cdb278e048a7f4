package route

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

func small() *Catalog {
	c := &Catalog{}
	for i := range 6 {
		c.Endpoints = append(c.Endpoints, Endpoint{
			Name: fmt.Sprintf("e%d", i), Identity: uint64(i), Model: "m", Artifact: "m@1", APIs: []string{"chat"},
			Capabilities: []string{"tools"}, ContextWindow: 1000, Weight: 100, Concurrency: Absent,
		})
	}
	for i := range 3 {
		c.Workloads = append(c.Workloads, Workload{
			Name: fmt.Sprintf("w%d", i), APIs: []string{"chat"}, Strategy: P2C, Attempts: Attempts{Max: 2, Total: second},
			Tiers: []Tier{{"t", []string{c.Endpoints[2*i].Name, c.Endpoints[2*i+1].Name}}},
		})
	}
	return c
}

func made(t *testing.T, prev *Snapshot, c *Catalog, f *Fleet) *Snapshot {
	t.Helper()
	s, err := Compile(prev, c, f, Local{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCompileSharesWhatDidNotChange(t *testing.T) {
	prev := made(t, nil, small(), nil)
	c := small()
	c.Endpoints[0].Weight = 7
	s := made(t, prev, c, nil)
	if s.static.facts[0] == prev.static.facts[0] || s.static.facts[1] != prev.static.facts[1] {
		t.Error("a changed endpoint is shared, or one that did not change is not")
	}
	c.Workloads[1].Attempts.Max++
	s = made(t, prev, c, nil)
	if s.static.workloads["w0"] != prev.static.workloads["w0"] || s.static.workloads["w1"] == prev.static.workloads["w1"] {
		t.Error("a changed workload is shared, or one that did not change is not")
	}
}

func TestOtherSizesOrNamesMakeAllWorkloadsAnew(t *testing.T) {
	prev := made(t, nil, small(), nil)
	size, name, fewer := small(), small(), small()
	size.Endpoints[0].ContextWindow = 5000
	name.Endpoints[5].Name, name.Workloads[2].Tiers[0].Endpoints[1] = "e9", "e9"
	fewer.Endpoints, fewer.Workloads[2].Tiers[0].Endpoints = fewer.Endpoints[:5], []string{"e4"}
	for change, c := range map[string]*Catalog{"size": size, "name": name, "number": fewer} {
		s := made(t, prev, c, nil)
		for i, w := range c.Workloads {
			at := s.static.workloads[w.Name]
			if at == prev.static.workloads[w.Name] {
				t.Errorf("%s: %s is shared", change, w.Name)
			}
			if got := s.static.facts[at.tiers[0][0]].endpoint.Name; got != w.Tiers[0].Endpoints[0] {
				t.Errorf("%s: tier %d begins with %s", change, i, got)
			}
		}
	}
	if w := made(t, prev, size, nil).static.workloads["w0"]; !slices.Equal(w.windows, []int64{1000, 5000}) {
		t.Errorf("windows %d", w.windows)
	}
}

func TestAFleetAloneChangesNothingOfTheCatalog(t *testing.T) {
	c, f := small(), &Fleet{Endpoints: []FleetEndpoint{{Name: "e1", Identity: 1, At: 5}, {Name: "e2", Identity: 99}, {Name: "x"}}}
	prev := made(t, nil, c, f)
	g := &Fleet{Endpoints: slices.Clone(f.Endpoints)}
	g.Endpoints[1].Identity = 2
	s := made(t, prev, c, g)
	if s.static != prev.static {
		t.Error("the same catalog was compiled again")
	}
	if s.words[1] == nil || s.words[1] != prev.words[1] {
		t.Error("a row that did not change is not shared")
	}
	if prev.words[2] != nil || s.words[2] == nil {
		t.Error("a row of another identity counts, or its own does not")
	}
}

func TestANewVocabularySharesNothing(t *testing.T) {
	prev := made(t, nil, small(), nil)
	c := small()
	c.Endpoints[0].Capabilities = []string{"vision", "tools"}
	s := made(t, prev, c, nil)
	if s.static.facts[1] == prev.static.facts[1] {
		t.Error("sets of another vocabulary were kept")
	}
}

func TestPoolsAreBounded(t *testing.T) {
	c := small()
	c.Workloads[0].Contract.Regions = nil
	for i := range 3 * maxPools {
		c.Tenants = append(c.Tenants, Tenant{Name: fmt.Sprint(i), Workloads: []string{"*"}, Regions: []string{fmt.Sprint(i)}, Caps: NoCaps()})
	}
	r := NewRouter()
	r.Apply(1, made(t, nil, c, nil))
	for i := range 3 * maxPools {
		c := r.Begin(int64(i), "w0", Request{Tenant: fmt.Sprint(i)})
		r.Next(int64(i), 1, &c)
	}
	w := r.works["w0"]
	if r.pools != maxPools || len(w.pools) != maxPools || len(w.list) != maxPools {
		t.Errorf("%d pools, %d in the map, %d in the list", r.pools, len(w.pools), len(w.list))
	}
	if w.list[0].usedAt != 2*maxPools {
		t.Errorf("the pools that were left are from %d on", w.list[0].usedAt)
	}
}

func TestTalliesLeaveWithTheirWorkload(t *testing.T) {
	c := small()
	r := NewRouter()
	r.Apply(1, made(t, nil, c, nil))
	call := r.Begin(2, "w0", Request{})
	r.Abandon(2, r.Next(2, 1, &call).Attempt)
	r.Report(2)
	fewer := *c
	fewer.Workloads = c.Workloads[1:]
	r.Apply(3, made(t, nil, &fewer, nil))
	for _, l := range r.learned {
		if len(l.tallies) > 0 {
			t.Errorf("%s counts %d workloads", l.name, len(l.tallies))
		}
	}
}

func TestRegionsArePaths(t *testing.T) {
	for _, c := range []struct {
		regions []string
		path    string
		want    bool
	}{
		{nil, "", true}, {nil, "eu", true}, {[]string{"eu"}, "eu", true}, {[]string{"eu"}, "eu/west", true},
		{[]string{"eu"}, "europe", false}, {[]string{"eu/west"}, "eu", false}, {[]string{"us", "eu"}, "eu/west/1", true},
		{[]string{"eu"}, "", false}, {[]string{""}, "eu", false},
	} {
		if got := covers(c.regions, c.path); got != c.want {
			t.Errorf("covers(%q, %q) = %v", c.regions, c.path, got)
		}
	}
}

func TestLoadComparesTheFleetWithWhatWasOwnThen(t *testing.T) {
	l := &learned{}
	for i := range int64(20) { // own: i until a moment past second i; the ring keeps the last 16
		l.shift(i*second+1, ownLoad{inFlight: 1})
		l.shift(i*second+ringEvery, ownLoad{inFlight: 1}) // too soon after it to be noted
		l.shift(i*second+ringEvery, ownLoad{inFlight: -1})
	}
	l.hear(&word{at: 5 * second, inFlight: 10})
	l.inFlight = 3
	if got := l.load(5 * second); got != 3+10-5 {
		t.Errorf("load %g", got)
	}
	if got := l.then(second).inFlight; got != 4 {
		t.Errorf("before all notes: %d, want the oldest kept", got)
	}
	if got := l.then(20 * second).inFlight; got != 3 {
		t.Errorf("after all notes: %d, want what it is now", got)
	}
}

func TestABudgetNeverGrowsPastItsReserve(t *testing.T) {
	w := &Workload{Attempts: Attempts{RetryReserve: 3}}
	var b budget
	b.fill(0, w)
	b.earn(5, w)
	b.refill(3600*second, w)
	if b.tokens != 3 {
		t.Errorf("%g tokens", b.tokens)
	}
	b.tokens = 0
	b.refill(3615*second, w)
	if b.tokens != 1.5 || b.affords(2, 1) || !b.affords(1, 1) || b.affords(1, 0.5) {
		t.Errorf("%g tokens after 15 s", b.tokens)
	}
}

func TestARetryFactorFromBeforeTheClocksBaseExpires(t *testing.T) {
	r := NewRouter()
	for at, want := range map[int64]float64{-20 * second: 0.25, -30 * second: 1, math.MinInt64 / 2: 1, 0: 0.25} {
		r.Apply(1, made(t, nil, small(), &Fleet{Workloads: []FleetWorkload{{Name: "w0", At: at, RetryFactor: 0.25}}}))
		if got := r.retryFactor(5*second, "w0"); got != want {
			t.Errorf("made at %d: factor %g, want %g", at, got, want)
		}
	}
}

func TestEventsAreBounded(t *testing.T) {
	r := NewRouter()
	for range maxEvents + 10 {
		r.Settle(1, Attempt{}, Outcome{})
	}
	e := r.Events(nil)
	if len(e) != maxEvents+1 || e[maxEvents] != (Event{Kind: EventDropped, At: 1, Count: 10}) {
		t.Errorf("%d events, the last %+v", len(e), e[len(e)-1])
	}
	if len(r.Events(nil)) != 0 {
		t.Error("events were told twice")
	}
}

func TestNothingIsRoutedBeforeASnapshot(t *testing.T) {
	r := NewRouter()
	c := r.Begin(1, "w", Request{})
	if step := r.Next(1, 1, &c); step.Kind != Fail || step.Err == nil {
		t.Errorf("%+v", step)
	}
	if next := r.Tick(1); next <= 1 {
		t.Errorf("tick again at %d", next)
	}
	if x := r.Explain(1, "w", Request{}); x.Err == nil {
		t.Error("explained without a snapshot")
	}
}
