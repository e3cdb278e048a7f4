package convergence

import (
	"fmt"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

// The library's pace (clientlib/reports.go).
const (
	reportEvery  = second
	urgentWithin = 100 * ms
	urgentMost   = 4
	tickAtMost   = 250 * ms
	tickAtLeast  = 5 * ms
)

// usage takes 3.3 s at speed 1, give or take a fifth.
var usage = money.Usage{Input: 1000, Output: 200}

// leaf is one running library, on a node of its own.
type leaf struct {
	*world
	number   int
	name     string
	locality string
	hub      *hub
	router   *route.Router
	cut      bool // its own network is down towards all endpoints
	lies     bool
	liesOf   string // one endpoint; empty: all of them

	ticking  uint64 // the tick to come; others are void
	sequence uint64
	sent     [urgentMost]int64
	last     int64
	voted    bool

	version uint64           // of the overlay applied
	free    bool             // its ack has come
	avoids  map[string]int64 // since when, for whatever reason
	held    map[string]int64 // for the fleet's word
	tripped map[string]int64 // for its own
}

func newLeaf(w *world, number int) *leaf {
	l := &leaf{
		world: w, number: number, name: fmt.Sprintf("l%04d", number), locality: w.localities[number%len(w.localities)],
		hub: w.tree.hubs[number%len(w.tree.hubs)], router: route.NewRouter(), free: true,
		last: w.now - w.within(0, reportEvery), avoids: map[string]int64{}, held: map[string]int64{}, tripped: map[string]int64{},
	}
	l.hub.children = append(l.hub.children, l)
	l.router.Apply(w.now, w.tree.snapshot(nil, l.locality))
	l.after(w.within(0, tickAtMost), l.tick)
	l.after(l.pause(), l.ask)
	return l
}

// pause is the time between two requests.
func (l *leaf) pause() int64 {
	return int64(l.rng.ExpFloat64() * float64(second) / l.perSecond)
}

// ask makes a request, and the next one later.
func (l *leaf) ask() {
	c := l.router.Begin(l.now, "chat", route.Request{Stream: true, Input: usage.Input, MaxOutput: usage.Output})
	l.next(&c)
	l.after(l.pause(), l.ask)
}

// next does what the core says.
func (l *leaf) next(c *route.Call) {
	s := l.router.Next(l.now, l.rng.Uint32(), c)
	switch s.Kind {
	case route.Wait:
		l.at(s.Until, func() { l.next(c) })
	case route.Send:
		l.endpoints[s.Endpoint.Name].take(&sending{leaf: l, call: c, attempt: s.Attempt, probe: s.Probe})
	}
}

// nudge has urgent news reported soon.
func (l *leaf) nudge() {
	if l.router.Urgent() {
		l.tickAt(l.now)
	}
}

func (l *leaf) tickAt(at int64) {
	l.ticking++
	this := l.ticking
	l.at(at, func() {
		if this == l.ticking {
			l.tick()
		}
	})
}

// tick is the library's loop.
func (l *leaf) tick() {
	next := l.router.Tick(l.now)
	l.note()
	due := l.last + reportEvery
	if l.router.Urgent() {
		due = min(due, l.urgentAt())
	}
	if due <= l.now {
		l.report()
		due = l.now + reportEvery
	}
	l.tickAt(l.now + min(max(min(next, due)-l.now, tickAtLeast), tickAtMost))
}

func (l *leaf) urgentAt() int64 {
	oldest, newest := l.sent[l.sequence%urgentMost], l.sent[(l.sequence+urgentMost-1)%urgentMost]
	switch {
	case newest == 0:
		return 0
	case oldest == 0:
		return newest + urgentWithin
	}
	return max(newest+urgentWithin, oldest+second)
}

// note says which endpoints its own breaker took out.
func (l *leaf) note() {
	for _, e := range l.router.Events(nil) {
		if e.Kind == route.EventOpened && l.tripped[e.Endpoint] == 0 {
			l.tripped[e.Endpoint] = e.At
			l.avoid(e.Endpoint, e.At)
		}
	}
}

func (l *leaf) avoid(endpoint string, at int64) {
	if l.avoids[endpoint] == 0 {
		l.avoids[endpoint] = at
	}
}

// report sends an interval up, if there is any news.
func (l *leaf) report() {
	r := l.router.Report(l.now)
	interval := l.now - l.last
	l.last = l.now
	if l.lies {
		l.lie(&r)
	}
	if l.alone || len(r.Rows)+len(r.Votes)+len(r.Probes) == 0 && !l.voted {
		return
	}
	l.voted = len(r.Votes) > 0
	l.sent[l.sequence%urgentMost] = l.now
	l.sequence++
	r.Leaf, r.Node, r.Locality, r.Incarnation, r.Sequence = l.name, l.name, l.locality, 1, l.sequence
	r.At, r.Interval = l.now, interval
	l.after(l.tree.hop(), func() { l.hub.add(r) })
}

// lie has one endpoint fail a million times, and votes for it; or all of them.
func (l *leaf) lie(r *route.Report) {
	for _, e := range l.catalog.Endpoints {
		if l.liesOf == "" || l.liesOf == e.Name {
			r.Rows = append(r.Rows, route.Row{Endpoint: e.Name, Identity: e.Identity, Workload: "chat", AdmitFailed: 1e6, FinishFailed: 1e6})
			r.Votes = append(r.Votes, route.Vote{Endpoint: e.Name, Identity: e.Identity, Reason: "a lie"})
		}
	}
}

// apply takes an overlay.
func (l *leaf) apply(o *overlay) {
	l.after(l.tree.hop(), func() { l.hub.acked(l) })
	if o.version <= l.version {
		return
	}
	l.version = o.version
	l.router.Apply(l.now, o.snapshots[l.locality])
	for _, name := range o.held[l.locality] {
		l.avoid(name, l.now)
		if l.held[name] == 0 {
			l.held[name] = l.now
		}
	}
	l.note()
	l.nudge()
}

func (l *leaf) grant(p route.Permit) {
	l.router.Grant(l.now, p)
	l.nudge()
}
