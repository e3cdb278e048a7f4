// Package route decides where a request goes: which endpoints could serve it, which of
// them may now, which is best, and whether a failed attempt gets another one. It keeps
// what this process learns on the way: loads, latencies, its own breakers.
//
// It is a plain state machine. Time (µs), chance (32-bit seeds) and news come in as
// arguments; decisions, reports and events go out as values. It does no I/O, starts no
// goroutine, reads no clock, locks nothing, and neither logs nor counts. The client
// library calls it under one lock; the simulator, explain and the agent call the same
// code. Other languages are held to its stories in test/vectors.
//
//	Compile ─▶ Snapshot ─▶ Router.Apply
//	Begin ─▶ Next ─▶ Send ─▶ FirstToken ─▶ Settle ─▶ Next …      Tick, Grant, Report, Events
package route

import (
	"slices"
	"strings"

	"github.com/pointsman/pointsman/clientlib/route/breaker"
)

// Router decides. It keeps what this process learns, and needs one owner: it is not safe
// for concurrent use.
type Router struct {
	snapshot *Snapshot
	overlay  uint64 // grows with each snapshot
	chance   chance

	learned map[key]*learned
	current []*learned // by place: as the snapshot's facts
	words   []*word    // by place: what current was told
	states  states

	minuteAt int64 // when the next look is due at what has gone on for long
	works    map[string]*work
	lately   [16]*work        // that were asked for
	met      uint32           // endpoints
	order    []*work          // by name
	pools    int              // of all of them
	holds    map[string]*hold // by credential
	quotas   map[string]*quota
	known    map[string]*tab   // of tenants by name, those that left lately too
	tabs     []*tab            // by place: as the catalog's tenants
	askedAt  [priorities]int64 // the last call
	need     need              // of the latest Next

	watched
	flights
	outgoing

	chooser  Chooser // nil: the strategies choose
	eligible []int32 // scratch, for it

	choice  choice         // of the latest Next
	trips   []breaker.Trip // scratch
	numbers []float64      // scratch
	dealt   []int64        // scratch
	refused refused        // waits for the next report
}

// watched is what is not to be trusted now, and what may be sent there all the same.
type watched struct {
	suspects  []*learned // with local trips
	suspectAt int        // whose probe is looked at first
	held      []*learned // by the fleet
	permits   []Permit
}

// outgoing waits to be fetched: by Report, by Events.
type outgoing struct {
	dirty    []*tally
	draining draining
	cells    []*cell // empty
	sum      cell    // scratch
	probes   []ProbeResult
	urgent   bool
	events   []Event
	lost     int // events that did not fit
}

// work is what is kept of one workload.
type work struct {
	compiled *workload
	pools    map[ask]*pool
	list     []*pool // as they were made
	recent   [recentPools]*pool
	seated   *token   // of the static that the tallies are of
	tallies  []*tally // by place; nil: not made yet
	budget   budget
	spill    spill
	output   outputs
	input    inputs
	cached   [2]cached         // at a key's first home, and its second
	sheds    [shedKinds]uint64 // calls since the last report
}

const recentPools = 64 // that are found without the map, of a workload

// maxStale is how much may be kept of endpoints and credentials that left until it is looked for.
const maxStale = 64

// NewRouter has no snapshot yet: every call fails until Apply.
func NewRouter() *Router {
	return &Router{learned: map[key]*learned{}, works: map[string]*work{}, holds: map[string]*hold{}, quotas: map[string]*quota{}, known: map[string]*tab{}}
}

// Apply makes a snapshot the one that decides. What was learned of an endpoint stays as
// long as its name and identity do.
func (r *Router) Apply(now int64, s *Snapshot) {
	old := r.snapshot
	r.snapshot = s
	r.overlay++
	if old == nil || old.static.rations != s.static.rations {
		r.seatTenants(now, s.static)
		r.ration(now, s.static)
	}
	switch {
	case old != nil && old.static == s.static:
	case old != nil && old.static.token == s.static.parent && len(r.learned)+len(r.holds)+len(r.quotas) < 4*len(r.current)+maxStale:
		r.replace(now, s.static)
		r.hire(now, s.static)
	default:
		r.adopt(now, s.static)
		r.hire(now, s.static)
	}
	for i, w := range s.words {
		if w != r.words[i] {
			r.words[i] = w
			r.hear(now, r.current[i], w)
		}
	}
}

// hear takes the fleet's word on an endpoint. Most words move loads alone.
func (r *Router) hear(now int64, l *learned, w *word) {
	was := l.word
	l.hear(w)
	if was.fresh(now) && !w.moves(was) {
		return
	}
	r.tell(now, l)
	r.mind(l)
}

// mind keeps the list of those that the fleet holds.
func (r *Router) mind(l *learned) {
	at := slices.Index(r.held, l)
	if holds := l.leftAt == 0 && l.heldBy(allClasses) != 0; holds && at < 0 {
		r.held = append(r.held, l)
	} else if !holds && at >= 0 {
		r.held = slices.Delete(r.held, at, at+1)
	}
}

// replace takes the endpoints that differ from the catalog before, which had the same names.
func (r *Router) replace(now int64, s *static) {
	for _, place := range s.changed {
		l := r.meet(s.facts[place])
		if was := r.current[place]; was != l {
			was.leftAt = now
			r.mind(was)
		}
		l.leftAt, l.place, r.current[place], r.words[place] = 0, place, l, l.word
		l.uses(r.overlay)
		r.mind(l)
		r.states.bits[place] = ^state(0) // whatever it is, it changed
		r.touch(now, l)
	}
}

// adopt takes a new catalog's endpoints and lets go of what left.
func (r *Router) adopt(now int64, s *static) {
	was := slices.Clone(r.current)
	for _, l := range was {
		l.leftAt = now
	}
	r.current = r.current[:0]
	for i, f := range s.facts {
		if i < len(was) && was[i].facts == f {
			r.current = append(r.current, was[i])
		} else {
			r.current = append(r.current, r.meet(f))
		}
	}
	r.words, r.states = r.words[:0], states{make([]state, len(s.facts)), make([]int64, len(s.facts)), forever, r.states.changes + 1}
	r.held = r.held[:0]
	for i, l := range r.current {
		l.leftAt, l.place = 0, int32(i)
		l.uses(r.overlay)
		r.words = append(r.words, l.word)
		if l.heldBy(allClasses) != 0 {
			r.held = append(r.held, l)
		}
		r.touch(now, l)
	}
	r.forget(now)
}

// hire takes the catalog's workloads.
func (r *Router) hire(now int64, s *static) {
	if r.rehire(s) {
		return
	}
	r.order, r.pools = r.order[:0], 0
	works := make(map[string]*work, len(s.workloads))
	for i := range s.catalog.Workloads {
		name := s.catalog.Workloads[i].Name
		w := r.employ(now, name, s.workloads[name])
		works[name] = w
		r.order = append(r.order, w)
		r.pools += len(w.list)
	}
	for name := range r.works {
		if works[name] == nil {
			r.dismiss(name)
		}
	}
	r.works, r.lately = works, [len(r.lately)]*work{}
	slices.SortFunc(r.order, func(a, b *work) int { return strings.Compare(a.compiled.spec.Name, b.compiled.spec.Name) })
}

// rehire is hire for a catalog that has the same workloads by name.
func (r *Router) rehire(s *static) bool {
	if len(r.works) != len(s.workloads) {
		return false
	}
	for name := range s.workloads {
		if r.works[name] == nil {
			return false
		}
	}
	for _, w := range r.order {
		w.compiled = s.workloads[w.compiled.spec.Name]
	}
	return true
}

// dismiss drops what was counted for a workload that left; what is not yet reported goes with
// its report.
func (r *Router) dismiss(name string) {
	r.works[name].tallies = nil // of who counted for it, who may have counted for others that left, and so on
	for _, l := range r.learned {
		if t := l.tallies[name]; t != nil && !t.dirty {
			delete(l.tallies, name)
		}
	}
}

// Begin makes a call. It never fails, Next does, and reads nothing of the router: it needs no lock.
func (r *Router) Begin(now int64, workload string, q Request) Call {
	return Call{workload: workload, request: q, began: now}
}

// meet finds or begins what is learned of an endpoint.
func (r *Router) meet(f *facts) *learned {
	k := key{f.endpoint.Name, f.endpoint.Identity}
	l := r.learned[k]
	if l == nil {
		r.met++
		l = &learned{key: k, number: r.met, running: running{oldest: -1, newest: -1, cold: true}, tallies: map[string]*tally{}}
		r.learned[k] = l
	}
	if l.facts == f {
		return l
	}
	if l.facts != nil && !f.endpoint.same(l.facts.endpoint) {
		l.outUntil = 0 // what was missing may be there now
	}
	l.facts = f
	l.describes(f.endpoint)
	l.window, l.output = f.endpoint.ContextWindow, f.endpoint.MaxOutputTokens
	l.breaker.SetPolicy(&f.endpoint.Breaker)
	l.credential = &l.ownKey
	if name := f.endpoint.Credential; name != "" {
		l.credential = r.hold(name)
	}
	r.shares(l)
	return l
}

func (r *Router) hold(name string) *hold {
	h := r.holds[name]
	if h == nil {
		h = &hold{}
		r.holds[name] = h
	}
	return h
}

// forget drops endpoints that left a while ago, and holds and quotas that nobody uses.
func (r *Router) forget(now int64) {
	if len(r.learned) > len(r.current) {
		for k, l := range r.learned {
			if l.leftAt > 0 && l.inFlight == 0 && now-l.leftAt >= forgotten {
				r.acquit(l)
				delete(r.learned, k)
				r.dirty = slices.DeleteFunc(r.dirty, func(t *tally) bool { return t.owner == l })
				continue
			}
			l.uses(r.overlay)
		}
	}
	for name, h := range r.holds {
		if h.seen != r.overlay {
			delete(r.holds, name)
		}
	}
	for name, q := range r.quotas {
		if q.seen != r.overlay && q.spec.Name == "" {
			delete(r.quotas, name)
		}
	}
}

func (r *Router) employ(now int64, name string, compiled *workload) *work {
	w := r.works[name]
	if w == nil {
		w = &work{pools: map[ask]*pool{}}
		w.budget.fill(now, compiled.spec)
	}
	w.compiled = compiled
	return w
}

// tell passes the fleet's word on to the endpoint's own breaker.
func (r *Router) tell(now int64, l *learned) {
	w := l.word
	if w == nil {
		w = &word{}
	}
	l.lost = 0
	for c := range breaker.Classes {
		v := breaker.Word{Class: c, Round: w.round[c]}
		switch bit := breaker.ClassSet(1) << c; {
		case w.held&bit != 0 && w.lost(now, c):
			v.Standing, l.lost = breaker.Lost, l.lost|bit
		case w.held&bit != 0:
			v.Standing = breaker.Held
		case w.ramping&bit != 0:
			v.Standing = breaker.Ramping
		}
		r.changed(now, l, l.breaker.Fleet(now, r.chance.draw(), v))
	}
	r.touch(now, l)
}
