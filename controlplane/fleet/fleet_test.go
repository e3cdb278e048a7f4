package fleet

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
)

func TestQuorum(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 1, 2: 2, 3: 3, 4: 3, 15: 3, 16: 4, 20: 4, 21: 5, 50: 10, 1000: 10} {
		if got := quorum(n); got != want {
			t.Errorf("of %d nodes %d, want %d", n, got, want)
		}
	}
}

func TestHalfOfTheLocalitiesAndNeverOneForAnother(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2: 2, 3: 2, 4: 2, 5: 3, 9: 5} {
		if got := localitiesFor(n); got != want {
			t.Errorf("of %d localities %d, want %d", n, got, want)
		}
	}
}

func TestNoWitnessIsMoreThanAThird(t *testing.T) {
	tests := []struct {
		samples []int64
		want    int64
	}{
		{nil, 0},
		{[]int64{7}, 7},
		{[]int64{7, 1000}, 1000}, // two are not bounded
		{[]int64{7, 0, 1000}, 1000},
		{[]int64{5, 5, 5}, 5},
		{[]int64{1, 2, 3}, 1},
		{[]int64{10, 10, 10, 1000}, 15},
		{[]int64{1000, 10, 900, 10}, 20},
		{[]int64{4, 4, 4, 4}, 4},
	}
	for _, tt := range tests {
		got := most(tt.samples)
		if got != tt.want {
			t.Errorf("of %v each counts for %d at most, want %d", tt.samples, got, tt.want)
		}
		var total int64
		for _, n := range tt.samples {
			total += min(n, got)
		}
		if len(tt.samples) > 2 && tt.samples[1] > 0 && 3*got > total {
			t.Errorf("of %v one counts for %d of %d", tt.samples, got, total)
		}
	}
}

func TestWhatALeafSaysOfItsLoadIsBounded(t *testing.T) {
	f := New(Config{})
	f.Apply(1, &route.Catalog{Endpoints: []route.Endpoint{{Name: "a", Identity: 1}}})
	row := route.Row{Endpoint: "a", Identity: 1, InFlight: math.MaxUint64, PendingPromptTokens: math.MaxUint64, OutstandingTokens: math.MaxUint64}
	load := func() route.FleetLoad {
		got, _ := f.Row(1, "a")
		return got.Loads[0]
	}
	for _, leaf := range []string{"l", "m"} {
		f.Observe(1, route.Report{Leaf: leaf, Sequence: 1, At: 1, Rows: []route.Row{row, row}})
	}
	want := route.FleetLoad{InFlight: 4 * mostRows, PendingPromptTokens: 4 * mostTokens, OutstandingTokens: 4 * mostTokens, Witnesses: 2}
	if diff := gocmp.Diff(want, load()); diff != "" {
		t.Error(diff)
	}
	for _, leaf := range []string{"l", "m"} {
		f.Observe(1, route.Report{Leaf: leaf, Sequence: 2, At: 1})
	}
	if diff := gocmp.Diff(route.FleetLoad{Witnesses: 2}, load()); diff != "" {
		t.Errorf("after it is over: %s", diff)
	}
	const leaves, rows = maxLeaves, 1 << 16 // of a MiB, which is what a hub takes
	if hi, _ := bits.Mul64(leaves*rows, mostTokens); hi > 0 {
		t.Error("what all leaves say does not fit into a sum")
	}
}

func TestMemoryIsBounded(t *testing.T) {
	f := New(Config{})
	f.Apply(1, &route.Catalog{Endpoints: []route.Endpoint{{Name: "a", Identity: 1}}})
	row := route.Row{Endpoint: "a", Identity: 1, Admitted: 1, InFlight: 1}
	for i := range maxLeaves + 10 {
		f.Observe(1, route.Report{Leaf: fmt.Sprint(i), Node: fmt.Sprint(i % 7), Locality: fmt.Sprint(i % 1000), Sequence: 1, At: 1, Rows: []route.Row{row}})
	}
	if n := len(f.leaves); n != maxLeaves {
		t.Errorf("%d leaves", n)
	}
	if n := len(f.endpoints["a"].sites); n > mostSites+1 {
		t.Errorf("%d localities", n)
	}
	for range mostEvents + 10 {
		f.tell(1, f.endpoints["a"], &word{}, Event{Kind: Opened})
	}
	if n := len(f.Events()); n != mostEvents {
		t.Errorf("%d events", n)
	}
	for i := range mostSeen + 10 {
		f.ObserveNode(1, route.NodeReport{Node: fmt.Sprint(i), Sequence: 1, At: 1, Reaches: []route.Reach{{Endpoint: "a", Identity: 1}, {Endpoint: fmt.Sprint(i), Identity: 1}}})
		quota := []route.SpentQuota{{Quota: fmt.Sprint(i), Until: minute}}
		f.Observe(1, route.Report{Leaf: fmt.Sprint(i), Sequence: 2, At: 1, Spent: quota, Sheds: []route.Shed{{Workload: fmt.Sprint(i), Count: 1}}})
	}
	f.Tick(2)
	if len(f.agents) != mostSeen || len(f.agents["1"].reaches) != 1 || len(f.strains.limits) > mostNames || len(f.sheds) > 0 {
		t.Errorf("%d agents, of one %d reaches, %d limits, %d sheds", len(f.agents), len(f.agents["1"].reaches), len(f.strains.limits), len(f.sheds))
	}
	for now := int64(0); now < 3*forgotten; now += 10 * minute {
		f.Tick(now)
	}
	if len(f.agents)+len(f.strains.limits)+len(f.strains.spills) != 0 {
		t.Errorf("after hours of silence %d agents, %d limits, %d spills are known", len(f.agents), len(f.strains.limits), len(f.strains.spills))
	}
	if len(f.leaves)+len(f.nodes)+len(f.roster)+len(f.endpoints["a"].sites) != 0 {
		t.Errorf("after hours of silence %d leaves, %d nodes, %d sites are known", len(f.leaves), len(f.nodes), len(f.endpoints["a"].sites))
	}
}

func TestAWordIsForgottenLongAfterItClosed(t *testing.T) {
	f := New(Config{Held: []route.FleetEndpoint{
		{Name: "a", Identity: 1, Breakers: []route.FleetBreaker{{State: route.FleetRamp, Round: 7}, {Class: breaker.Classes}, {Class: breaker.Tools, Round: maxRound}}},
		{Name: "b", Identity: 1, Breakers: []route.FleetBreaker{{State: route.FleetOpen, Round: 7}}},
	}})
	f.Apply(1, &route.Catalog{Endpoints: []route.Endpoint{{Name: "a", Identity: 1}, {Name: "b", Identity: 2}}})
	if _, ok := f.Row(1, "b"); ok {
		t.Error("a word of another identity was taken over")
	}
	if row, _ := f.Row(1, "a"); len(row.Breakers) != 1 {
		t.Errorf("taken over: %+v", row.Breakers)
	}
	f.Tick(2)
	f.Tick(forgotten)
	if _, ok := f.Row(forgotten, "a"); !ok {
		t.Error("its round is forgotten within the hour")
	}
	f.Tick(forgotten + minute)
	if _, ok := f.Row(forgotten+minute, "a"); ok {
		t.Error("a closed word is kept for ever")
	}
}

// TestAnyOrderOfNews sends reports, results and time in any order, and holds the judge to
// what must always be so; the same news have the same answers.
func TestAnyOrderOfNews(t *testing.T) {
	for seed := range uint64(4) {
		first, second := riot(t, seed), riot(t, seed)
		if diff := gocmp.Diff(first, second); diff != "" {
			t.Fatalf("seed %d went differently:\n%s", seed, diff)
		}
	}
}

// rioter makes up news.
type rioter struct {
	rng      *rand.Rand
	catalog  *route.Catalog
	sequence map[string]uint64
	granted  []Grant
}

func riot(t *testing.T, seed uint64) (out []string) {
	r := &rioter{rng: rand.New(rand.NewPCG(seed, 1)), catalog: riotCatalog(), sequence: map[string]uint64{}}
	f, now := New(Config{Term: seed}), int64(1)
	f.Apply(now, r.catalog)
	for range 2000 {
		now += r.rng.Int64N(second / 4)
		report := r.report(now)
		f.Observe(now, report)
		f.ObserveNode(now, r.node(now))
		f.Status(now)
		if r.rng.IntN(50) == 0 {
			f.Gone(now, report.Leaf)
		}
		if next := f.Tick(now); next <= now {
			t.Fatalf("at %d the next tick is at %d", now, next)
		}
		r.granted = append(r.granted, f.Grants()...)
		for _, e := range f.Events() {
			out = append(out, fmt.Sprint(e))
		}
		for _, w := range f.Retries() {
			if !(w.RetryFactor >= 0 && w.RetryFactor <= 1) {
				t.Fatalf("%+v", w)
			}
			out = append(out, fmt.Sprint(w))
		}
		check(t, f)
	}
	for range 3 {
		now += forgotten
		f.Tick(now)
	}
	if told := f.Retries(); len(told) != 1 || told[0].RetryFactor != 1 {
		t.Errorf("after hours of silence: %+v", told)
	}
	for _, row := range f.Rows(now) {
		if len(row.Loads) > 0 {
			t.Errorf("after hours of silence: %+v", row)
		}
	}
	if len(out) == 0 {
		t.Error("nothing happened")
	}
	return out
}

func riotCatalog() *route.Catalog {
	policy := breaker.Policy{Window: 5 * second, SlowWindow: minute, MinSamples: 20, FailureRatio: 0.5, TTFTLimit: second, Cooldown: second, CooldownMax: 8 * second, Probes: 2, Ramp: 3 * second, MaxEjected: 0.5}
	c := &route.Catalog{Workloads: []route.Workload{{Name: "chat", Tiers: []route.Tier{{Endpoints: []string{"a", "b", "c"}}}}}}
	for _, name := range []string{"a", "b", "c"} {
		c.Endpoints = append(c.Endpoints, route.Endpoint{Name: name, Identity: 1, Provider: name, Breaker: policy, Weight: route.Absent})
	}
	return c
}

// report is some leaf's, often late or again, and sometimes with the result of a probe.
func (r *rioter) report(now int64) route.Report {
	out := route.Report{Leaf: fmt.Sprint("n", r.rng.IntN(8)), Locality: []string{"", "eu", "us"}[r.rng.IntN(3)], At: now - r.rng.Int64N(2*second)}
	if len(r.granted) > 0 {
		g := r.granted[r.rng.IntN(len(r.granted))]
		out.Leaf = g.Leaf
		r.sequence[out.Leaf]++
		out.Probes = []route.ProbeResult{{Permit: g.Permit.Number, Endpoint: g.Permit.Endpoint, Identity: 1, Class: g.Permit.Class, Round: g.Permit.Round, Outcome: route.ProbeOutcome(r.rng.IntN(6))}}
	}
	r.sequence[out.Leaf] += r.rng.Uint64N(3)
	out.Sequence = r.sequence[out.Leaf]
	if r.rng.IntN(4) == 0 {
		out.Sheds = []route.Shed{{Workload: "chat", Kind: route.ShedKind(r.rng.IntN(6)), Count: r.rng.Uint64N(9)}}
		out.Spent = []route.SpentQuota{{Quota: "q", Until: now + r.rng.Int64N(minute)}}
	}
	for _, e := range r.catalog.Endpoints {
		class := breaker.Class(r.rng.IntN(int(breaker.Classes)))
		out.Rows = append(out.Rows, r.row(e.Name, class))
		if r.rng.IntN(4) == 0 {
			out.Votes = append(out.Votes, route.Vote{Endpoint: e.Name, Identity: 1, Class: class, Phase: breaker.Phase(r.rng.IntN(2)), Soft: r.rng.IntN(2) == 0, Round: r.rng.Uint64N(50)})
		}
	}
	return out
}

// node is an agent's, with whatever numbers.
func (r *rioter) node(now int64) route.NodeReport {
	r.sequence["node"]++
	any := func() float64 { return r.rng.Float64()*20 - 4 }
	return route.NodeReport{
		Node: "n", Sequence: r.sequence["node"], At: now,
		Engines: []route.EngineLoad{{Endpoint: "a", Identity: 1, Running: any(), Waiting: any(), KVUsed: r.rng.Float64(), PromptTPS: 100 * any(), OutputTPS: 100 * any()}},
		Reaches: []route.Reach{{Endpoint: "b", Identity: 1, Reached: r.rng.IntN(2) == 0}},
	}
}

func (r *rioter) row(endpoint string, c breaker.Class) route.Row {
	return route.Row{
		Endpoint: endpoint, Identity: 1, Class: c, Workload: "chat",
		Admitted: r.rng.Uint64N(9), AdmitFailed: r.rng.Uint64N(9), Finished: r.rng.Uint64N(9), FinishFailed: r.rng.Uint64N(5),
		Slow: r.rng.Uint64N(3), Limited: r.rng.Uint64N(9), InFlight: r.rng.Uint64N(5),
		WorkUS: r.rng.Uint64N(9 * second), BusyUS: r.rng.Uint64N(9 * second),
		WaitedUS: r.rng.Uint64N(9 * second), ExplainedUS: r.rng.Uint64N(9 * second),
	}
}

// check is what must be so at any time.
func check(t *testing.T, f *Fleet) {
	t.Helper()
	for _, e := range f.order {
		if v := e.speed.now; v != 0 && !(v >= slowest && v <= fastest) {
			t.Fatalf("%s has speed %g", e.spec.Name, v)
		}
		for _, w := range e.words {
			inFlight := int64(0)
			for _, p := range w.permits {
				if !p.settled && !p.judged {
					inFlight++
				}
			}
			if inFlight > e.spec.Breaker.Probes {
				t.Fatalf("%s: %d probes in flight", e.spec.Name, inFlight)
			}
		}
		for _, s := range e.sites {
			votes, failing, load := recount(f, s)
			if votes != s.votes || failing != s.failing || load != s.load {
				t.Fatalf("%s in %q: %d votes, %v failing, load %v are counted as %d, %v, %v", e.spec.Name, s.locality, votes, failing, load, s.votes, s.failing, s.load)
			}
		}
	}
}

func recount(f *Fleet, s *site) (votes int, failing [breaker.Classes][tracks]int, load sums) {
	for _, w := range s.witnesses {
		votes += len(w.votes)
		for c, l := range w.lanes {
			for t := range tracks {
				if l != nil && l.failing[t] {
					failing[c][t]++
				}
			}
		}
	}
	for _, l := range f.leaves {
		for _, p := range l.loads {
			if p.site == s {
				load.give(p.sums)
			}
		}
	}
	return votes, failing, load
}

// People ask why a breaker is not closed when another leader has taken over as well.
func TestATakeoverKeepsWhyABreakerRamps(t *testing.T) {
	f := New(Config{Held: []route.FleetEndpoint{
		{Name: "a", Identity: 1, Breakers: []route.FleetBreaker{{State: route.FleetRamp, Round: 7, Reason: "3 of 4 nodes"}}},
	}})
	f.Apply(1, &route.Catalog{Endpoints: []route.Endpoint{{Name: "a", Identity: 1}}})
	row, _ := f.Row(1, "a")
	if len(row.Breakers) != 1 || row.Breakers[0].State != route.FleetRamp || row.Breakers[0].Reason != "3 of 4 nodes" {
		t.Errorf("taken over: %+v", row.Breakers)
	}
}
