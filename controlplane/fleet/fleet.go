// Package fleet judges endpoints for the whole fleet: it opens, probes and closes their
// breakers from what leaves report, hands out the permits to probe, and says how much a
// workload that fails may still retry. It is pure: news, times (µs) and the term come in as arguments; rows, grants and events go out as values.
// The leader calls it; it is not safe for concurrent use.
//
//	closed ── a quorum of witnesses ──▶ open ── cooldown over ──▶ half-open: a few permits
//	   ▲                                 ▲ ▲                        │         │
//	   │                                 │ └────── a bad one ───────┘         │
//	   └──── ramp over ──── ramp ── a trip, twice as long         all good in a row
//	                         ▲                                                │
//	                         └────────────────────────────────────────────────┘
package fleet

import (
	"cmp"
	"maps"
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/window"
)

const (
	second = 1_000_000
	minute = 60 * second

	learning     = 3 * second // of a new judge, for those who use an endpoint to report it; see users.go
	sweepEvery   = second
	refreshEvery = 10 * second // so that rows that hold a class never look old, at 30 s
)

// Config starts a judge.
type Config struct {
	Term uint64                // of this leader: permits are numbered after it
	Held []route.FleetEndpoint // the overlay that this replica held, to go on from; dated on this clock
}

// Fleet is the judge. Make one with New.
type Fleet struct {
	term      uint64
	permits   uint64 // numbered so far
	held      []route.FleetEndpoint
	endpoints map[string]*endpoint
	order     []*endpoint // by name
	tiers     []*tierOf
	troubled  map[string]bool // providers of endpoints that are held
	retries   map[string]*retries
	reporters
	people
	schedule
	outcome
}

// reporters are who is heard.
type reporters struct {
	leaves map[string]*leaf
	roster []string // of leaves; in order after inRoster
	nodes  map[string]*node
}

// people is what is told to people, and decides nothing.
type people struct {
	agents  map[string]*agent
	sheds   map[shed]*window.Window
	strains strains
}

type schedule struct {
	judges int64 // from when on
	swept  int64
	due    int64 // Tick has nothing to do before
}

// outcome is what Changed, Retries, Grants and Events drain.
type outcome struct {
	dirty  []*endpoint // whose row changed
	urgent bool
	retold map[string]route.FleetWorkload
	grants []Grant
	events []Event
}

// endpoint is what the fleet knows of one identity.
type endpoint struct {
	spec *route.Endpoint
	declared
	speed   speed
	sites   []*site // by locality
	words   []*word // by class, then everywhere, then locality
	legacy  legacy
	round   uint64 // of the latest word
	at      int64  // when the row was true
	changed bool
	dirty   *[]*endpoint // the fleet's
}

// declared is what the catalog makes of an endpoint.
type declared struct {
	drains   []route.Override
	services []service // by workload
	pools    []*pool
	tiers    []*tierOf
	limits   limits
}

// New is a judge that knows no catalog yet.
func New(c Config) *Fleet {
	return &Fleet{
		term: c.Term, permits: c.Term << termBits, held: c.Held,
		endpoints: map[string]*endpoint{}, troubled: map[string]bool{}, retries: map[string]*retries{},
		reporters: reporters{leaves: map[string]*leaf{}, nodes: map[string]*node{}},
		people:    people{map[string]*agent{}, map[shed]*window.Window{}, strains{limits: map[strained]*strain{}, spills: map[string]*spill{}}},
		outcome:   outcome{retold: map[string]route.FleetWorkload{}},
	}
}

// Apply takes a catalog, which must not change afterwards. What was learned stays with
// endpoints of the same name and identity; the others start clean. From the first one on
// the judge learns for 3 s who uses what: else the first witness to report would be all there
// are. Before that it opens only what another judge knew the users of.
func (f *Fleet) Apply(now int64, c *route.Catalog) {
	if f.judges == 0 {
		f.judges = now + learning
	}
	before := f.endpoints
	f.endpoints = make(map[string]*endpoint, len(c.Endpoints))
	for i := range c.Endpoints {
		spec := &c.Endpoints[i]
		e := before[spec.Name]
		if e == nil || e.spec.Identity != spec.Identity {
			e = &endpoint{dirty: &f.dirty}
		} else {
			delete(before, spec.Name)
		}
		e.apply(spec)
		f.endpoints[spec.Name] = e
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		f.bury(now, before[name])
	}
	f.order = slices.SortedFunc(maps.Values(f.endpoints), func(a, b *endpoint) int { return cmp.Compare(a.spec.Name, b.spec.Name) })
	f.relate(c)
	f.relateRetries(now, c)
	f.due = 0
	for i := range f.held {
		f.adopt(now, &f.held[i])
	}
	f.held = nil
}

// apply replaces what operators declared. Windows of another length start empty.
func (e *endpoint) apply(spec *route.Endpoint) {
	old := e.spec
	e.spec, e.declared = spec, declared{}
	e.speed.describe(spec.Capacity)
	if old == nil || old.Breaker.Window == spec.Breaker.Window && old.Breaker.SlowWindow == spec.Breaker.SlowWindow {
		return
	}
	for _, s := range e.sites {
		s.forget()
	}
}

// bury says that an identity is no more.
func (f *Fleet) bury(now int64, e *endpoint) {
	e.mark()
	for _, w := range e.words {
		if w.state != route.FleetClosed {
			f.tell(now, e, w, Event{Kind: Closed, Evidence: "the endpoint is no more"})
		}
	}
}

// Tick moves what time moves, and says when to call again at the latest.
func (f *Fleet) Tick(now int64) (next int64) {
	if now < f.due {
		return f.due
	}
	if now >= f.swept+sweepEvery {
		f.swept = now
		f.sweep(now)
	}
	next = f.swept + sweepEvery
	for _, e := range f.order {
		next = min(next, f.rested(now, e))
		for _, w := range e.words {
			next = min(next, max(f.step(now, e, w), now+1))
		}
		if e.at+refreshEvery <= now && e.speaks() {
			e.touch(now)
		}
	}
	f.due = next
	return next
}

// sweep forgets leaves and witnesses, and judges again where fewer of them are left.
func (f *Fleet) sweep(now int64) {
	f.sweepLeaves(now)
	f.sweepAgents(now)
	f.sweepStatus(now)
	f.judgeRetries(now)
	f.judgeSpeeds(now)
	f.endure(now)
	clear(f.troubled)
	for _, e := range f.order {
		if e.held() {
			f.troubled[e.spec.Provider] = true
		}
	}
	for _, e := range f.order {
		for _, s := range e.sites {
			s.sweep(now)
			f.judge(now, s)
		}
		known := len(e.sites) + len(e.words)
		e.sites = slices.DeleteFunc(e.sites, func(s *site) bool { return s.empty(now) })
		e.words = slices.DeleteFunc(e.words, func(w *word) bool { return w.past(now) })
		if known > len(e.sites)+len(e.words) {
			e.mark()
		}
	}
}

func (e *endpoint) touch(now int64) {
	e.at = now
	e.mark()
}

func (e *endpoint) mark() {
	if !e.changed {
		e.changed = true
		*e.dirty = append(*e.dirty, e)
	}
}
