package convergence

import (
	"flag"
	"fmt"
	"testing"

	"github.com/pointsman/pointsman/controlplane/fleet"
)

var long = flag.Bool("long", false, "play every world with all ten seeds, in full size")

// whole is how much of a thing is played: a part of it when it is to be quick.
func whole[T any](quick, all T) T {
	if *long {
		return all
	}
	return quick
}

// seeds are those to play.
func seeds() uint64 { return whole[uint64](1, 10) }

const faulty = "e3"

// settled is traffic before the fault: loads swing for a while after all began at once.
func settled() int64 { return whole(10*second, 60*second) }

// each plays a test with every seed.
func each(t *testing.T, play func(t *testing.T, seed uint64)) {
	for seed := range seeds() {
		t.Run(fmt.Sprint("seed", seed+1), func(t *testing.T) { play(t, seed+1) })
	}
}

// until lets time pass until so, at most so long.
func (w *world) until(most int64, so func() bool) bool {
	for end := w.now + most; w.now < end; {
		w.run(w.now + 50*ms)
		if so() {
			return true
		}
	}
	return false
}

// avoided tells whether all leaves avoid the faulty endpoint, and since when.
func (w *world) avoided() (last int64, ok bool) {
	for _, l := range w.leaves {
		at := l.avoids[faulty]
		if at == 0 {
			return 0, false
		}
		last = max(last, at)
	}
	return last, true
}

func TestOneFaultIsAvoidedByAllBeforeMostHaveSeenIt(t *testing.T) {
	each(t, func(t *testing.T, seed uint64) {
		oneFault(t, seed, func(e *endpoint) { e.fail(all) })
	})
}

func TestBrokenStreamsTellSooner(t *testing.T) {
	if !*long {
		t.Skip("with -long")
	}
	each(t, func(t *testing.T, seed uint64) {
		oneFault(t, seed, (*endpoint).die)
	})
}

// oneFault plays 400 leaves and one endpoint that fails, by local breakers alone too.
func oneFault(t *testing.T, seed uint64, fail func(*endpoint)) {
	t.Helper()
	hits := map[bool]int{true: 400 * int(policy().Consecutive)} // about what it comes to
	for _, alone := range whole([]bool{false}, []bool{true, false}) {
		w := newWorld(t, setting{seed: seed, leaves: 400, perSecond: 1, alone: alone})
		w.run(w.now + settled())
		fail(w.endpoints[faulty])
		since := w.now
		if !w.until(600*second, func() bool { _, ok := w.avoided(); return ok }) {
			t.Fatalf("alone %v: not all avoid it", alone)
		}
		last, _ := w.avoided()
		w.run(w.now + second)
		hits[alone] = w.hitsBefore(faulty, since)
		if alone {
			continue
		}
		opened := w.opened(faulty)
		t.Logf("opened after %d ms (%s); the last leaf avoids it after %d ms; hits %d, alone %d: 1/%.1f",
			(opened[0].At-since)/ms, opened[0].Evidence, (last-since)/ms, hits[false], hits[true], float64(hits[true])/float64(hits[false]))
		if last-since > 1500*ms {
			t.Errorf("the last leaf avoids it after %d ms", (last-since)/ms)
		}
		if 25*hits[false] > hits[true] {
			t.Errorf("%d hits, alone %d", hits[false], hits[true])
		}
	}
}

// hitsBefore are attempts since a time of leaves that did not avoid the endpoint yet.
func (w *world) hitsBefore(name string, since int64) (n int) {
	for _, a := range w.endpoints[name].arrivals {
		at := w.leaves[a.leaf].avoids[name]
		if a.at >= since && !a.probe && (at == 0 || a.at <= at) {
			n++
		}
	}
	return n
}

func TestThreeLeavesAgreeWithinASecondOfTheLastTripNeeded(t *testing.T) {
	each(t, func(t *testing.T, seed uint64) {
		w := newWorld(t, setting{seed: seed, leaves: 3, perSecond: 8})
		w.run(w.now + settled())
		w.endpoints[faulty].fail(all)
		since := w.now
		if !w.until(60*second, func() bool { return len(w.opened(faulty)) > 0 }) {
			t.Fatal("it never opens")
		}
		at, last := w.opened(faulty)[0].At, int64(0)
		for _, l := range w.leaves {
			last = max(last, l.tripped[faulty])
		}
		t.Logf("opened after %d ms, the last trip after %d ms: %s", (at-since)/ms, (last-since)/ms, w.opened(faulty)[0].Evidence)
		if at > last+second && last > 0 {
			t.Errorf("opened %d ms after the last trip", (at-last)/ms)
		}
		w.run(max(at, last) + second)
		for _, l := range w.leaves {
			if l.held[faulty] == 0 || l.held[faulty] > max(at, last)+second {
				t.Errorf("%s holds the fleet's word since %d ms", l.name, (l.held[faulty]-since)/ms)
			}
		}
	})
}

func TestFiveThousandIdleLeavesAvoidWhatFewHaveSeen(t *testing.T) {
	if !*long {
		t.Skip("with -long")
	}
	w := newWorld(t, setting{seed: 1, leaves: 5000, perSecond: 0.2})
	w.run(w.now + settled()/2)
	w.endpoints[faulty].fail(all)
	since := w.now
	if !w.until(30*second, func() bool { _, ok := w.avoided(); return ok }) {
		t.Fatal("not all avoid it")
	}
	last, _ := w.avoided()
	t.Logf("opened after %d ms; the last of 5000 leaves avoids it after %d ms; %d hits", (w.opened(faulty)[0].At-since)/ms, (last-since)/ms, w.hitsBefore(faulty, since))
	if last-since > 1500*ms {
		t.Errorf("the last leaf avoids it after %d ms", (last-since)/ms)
	}
}

func TestOneLyingNodeOpensNothing(t *testing.T) {
	each(t, func(t *testing.T, seed uint64) {
		for _, leaves := range []int{3, 40} {
			for _, of := range []string{faulty, ""} {
				w := newWorld(t, setting{seed: seed, leaves: leaves, perSecond: 4})
				w.run(w.now + settled())
				w.leaves[0].lies, w.leaves[0].liesOf = true, of
				w.run(w.now + whole(10*second, 60*second))
				for _, e := range w.opened("") {
					t.Errorf("of %d leaves one lies of %q: %v", leaves, of, e)
				}
			}
		}
	})
}

func TestOneSickNodeOpensNothing(t *testing.T) {
	each(t, func(t *testing.T, seed uint64) {
		for _, leaves := range []int{3, 40} {
			w := newWorld(t, setting{seed: seed, leaves: leaves, perSecond: 4})
			w.run(w.now + settled())
			w.leaves[0].cut = true
			w.run(w.now + whole(10*second, 60*second))
			for _, e := range w.opened("") {
				t.Errorf("of %d leaves one is sick: %v", leaves, e)
			}
		}
	})
}

// Of two nodes neither outvotes the other: the sick one alone is half of them, and needs both.
func TestOneSickNodeOfTwoOpensNothing(t *testing.T) {
	w := newWorld(t, setting{seed: 1, leaves: 2, perSecond: 8})
	w.run(w.now + settled())
	w.leaves[0].cut = true
	w.run(w.now + whole(20*second, 60*second))
	for _, e := range w.opened("") {
		t.Error(e)
	}
}

func TestABadEgressOpensItsLocalityAlone(t *testing.T) {
	each(t, func(t *testing.T, seed uint64) {
		w := newWorld(t, setting{seed: seed, leaves: whole(30, 90), perSecond: whole(12.0, 4.0), localities: []string{"eu", "us", "ap"}})
		w.run(w.now + settled())
		w.endpoints[faulty].fail(func(l *leaf) bool { return l.locality == "eu" })
		since := w.now
		w.run(w.now + 5*second)
		for _, l := range w.leaves {
			if avoids := l.held[faulty] > 0; avoids != (l.locality == "eu") {
				t.Errorf("%s in %s avoids it: %v", l.name, l.locality, avoids)
			}
		}
		w.run(w.now + whole(10*second, 57*second))
		for _, e := range w.opened("") {
			if e.Endpoint != faulty || e.Locality != "eu" {
				t.Errorf("%v", e)
			}
		}
		t.Logf("opened in eu after %d ms", (w.opened(faulty)[0].At-since)/ms)
	})
}

// share is what an endpoint gets, in requests a second, once nothing moves any more.
func (w *world) share(e *endpoint, over int64) float64 {
	w.run(w.now + over)
	return float64(e.hits(w.now-over)) / float64(over) * float64(second)
}

// On recovery is from the endpoint's return until ten seconds after its ramp.
func TestWhatReturnsIsProbedByFewAndComesBackBySteps(t *testing.T) {
	each(t, func(t *testing.T, seed uint64) {
		w := newWorld(t, setting{seed: seed, leaves: whole(40, 400), perSecond: whole(10.0, 1.0), ramp: whole(10*second, 30*second)})
		w.run(w.now + settled())
		e := w.endpoints[faulty]
		e.fail(all)
		w.run(w.now + 20*second)
		e.down, e.most = nil, 0
		back := w.now
		if !w.until(120*second, func() bool { return w.last(faulty, fleet.Closed) > 0 }) {
			t.Fatal("it does not come back")
		}
		ramp, end := w.last(faulty, fleet.Ramping), w.last(faulty, fleet.Closed)+10*second
		w.run(end)
		final := w.share(e, whole(20*second, 60*second))
		five, one := float64(e.busiest(5*second, back, end))/5/final, float64(e.busiest(second, back, end))/final
		t.Logf("ramp after %d ms; at most %d probes at once; final share %.1f/s; over 5 s at most %.2f of it, over 1 s %.2f",
			(ramp-back)/ms, e.most, final, five, one)
		if e.most > int(policy().Probes) {
			t.Errorf("%d probes at once", e.most)
		}
		if five > 1.25 || one > 1.6 {
			t.Errorf("over 5 s %.2f, over 1 s %.2f of its final share", five, one)
		}
	})
}

// What leaves hear of each other's load is a second or two old, and the same for all.
func TestLeavesDoNotFollowOldNewsOfLoadsInAHerd(t *testing.T) {
	each(t, func(t *testing.T, seed uint64) {
		w := newWorld(t, setting{seed: seed, leaves: whole(40, 400), perSecond: whole(10.0, 1.0)})
		w.run(w.now + whole(20*second, 60*second))
		from := w.now
		w.run(w.now + 40*second)
		worst := 0.0
		for _, e := range w.endpoints {
			worst = max(worst, float64(e.busiest(second, from, w.now))*40/float64(e.hits(from)))
		}
		t.Logf("over 1 s an endpoint gets at most %.2f of its share", worst)
		if worst > 1.75 { // by chance 1.6
			t.Errorf("over 1 s an endpoint gets %.2f of its share", worst)
		}
	})
}

// last is when something last happened to an endpoint's breaker.
func (w *world) last(name string, k fleet.Kind) (at int64) {
	for _, e := range w.tree.told {
		if e.Kind == k && e.Endpoint == name {
			at = e.At
		}
	}
	return at
}
