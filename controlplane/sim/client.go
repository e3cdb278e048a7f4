package sim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/controlplane/sim/measure"
)

// The library's pace (clientlib/reports.go), but for how often it reports.
const (
	urgentWithin = 100 * ms
	urgentMost   = 4 // a second
	spentEvery   = 10 * second
	tickAtMost   = 250 * ms
	tickAtLeast  = 5 * ms
)

// client is one process with the library.
type client struct {
	world    *world
	number   int32
	name     string
	locality int // of the plane's
	router   *route.Router
	seeds    chance
	delays   chance
	queue    queue
	asking   *call // whose step the router decides
	reports
	held
}

// reports is what the library remembers of its reports.
type reports struct {
	sequence uint64
	sent     [urgentMost]int64 // when the last ones went, in a ring
	last     int64             // when the last interval ended
	voted    bool              // votes stood in the last one
	urged    bool              // the tick to come knows what is urgent
	spent    []route.SpentQuota
	spentAt  int64
	told     []route.Event // scratch
}

// held is the fleet's state as a client has it.
type held struct {
	version uint64 // applied
	offered uint64 // on its way, if it was not lost
	fleet   *route.Fleet
	granted uint64
}

func (w *world) populate() {
	phases := stream(w.seed, forPhases, 0)
	w.clients = make([]client, w.Fleet.Clients)
	for i := range w.clients {
		c := &w.clients[i]
		*c = client{
			world: w, number: int32(i), name: fmt.Sprintf("client-%04d", i), router: route.NewRouter(),
			seeds: stream(w.seed, forRouters, uint64(i)), delays: stream(w.seed, forDelays, uint64(i)),
		}
		if n := len(w.Fleet.Localities); n > 0 {
			c.locality = w.plane.localityOf(w.Fleet.Localities[i%n])
		}
		c.queue.client = c
		c.router.Apply(0, w.plane.bases[c.locality])
		c.last = -phases.within(w.reportEvery())
		w.agenda.set(ofTick, c.number, phases.within(tickAtMost))
		w.agenda.set(ofPush, c.number, phases.within(w.pushEvery()))
	}
}

func (w *world) reportEvery() int64 { return cmp.Or(w.Fleet.Report, second) }
func (w *world) pushEvery() int64   { return cmp.Or(w.Fleet.Push, second) }

// delay is how long a message takes to or from the client.
func (c *client) delay() int64 {
	f := &c.world.Fleet
	if f.Jitter == 0 {
		return f.Delay
	}
	return f.Delay + c.delays.within(f.Jitter)
}

// tick is the library's loop.
func (c *client) tick() {
	w := c.world
	next := c.router.Tick(w.now)
	c.urged = c.router.Urgent()
	c.note()
	due := c.last + w.reportEvery()
	if c.urged {
		due = min(due, c.urgentAt())
	}
	if due <= w.now {
		c.report()
		due = w.now + w.reportEvery()
	}
	w.agenda.set(ofTick, c.number, w.now+min(max(min(next, due)-w.now, tickAtLeast), tickAtMost))
}

// nudge has urgent news looked at now.
func (c *client) nudge() {
	if !c.urged && c.router.Urgent() {
		c.urged = true
		c.world.agenda.set(ofTick, c.number, c.world.now)
	}
}

func (c *client) urgentAt() int64 {
	oldest, newest := c.sent[c.sequence%urgentMost], c.sent[(c.sequence+urgentMost-1)%urgentMost]
	switch {
	case newest == 0:
		return 0
	case oldest == 0:
		return newest + urgentWithin
	}
	return max(newest+urgentWithin, oldest+second)
}

// note takes the router's events.
func (c *client) note() {
	c.told = c.router.Events(c.told[:0])
	for i := range c.told {
		e := &c.told[i]
		switch e.Kind {
		case route.EventOpened:
			c.world.recorder.Turn(measure.Turn{At: e.At, Endpoint: e.Endpoint, Kind: "opened", Client: c.number, Evidence: e.Reason})
			c.world.avoids(c, e.Endpoint, e.At)
		case route.EventClosed:
			c.world.recorder.Turn(measure.Turn{At: e.At, Endpoint: e.Endpoint, Kind: "closed", Client: c.number, Evidence: e.Reason})
		case route.EventCooldown, route.EventCredentialOut, route.EventEndpointOut:
			c.world.avoids(c, e.Endpoint, e.At)
		}
	}
}

// report sends an interval up, if there is any news.
func (c *client) report() {
	w := c.world
	m := w.plane.mail.take()
	r := &m.report
	*r = route.Report{Rows: r.Rows[:0]}
	for !c.router.Drain(w.now, r) {
	}
	c.urged = false
	interval := w.now - c.last
	c.last = w.now
	idle := len(r.Rows)+len(r.Votes)+len(r.Probes)+len(r.Sheds) == 0 && !c.voted
	if idle && !c.pauses(r.Spent) {
		w.plane.mail.give(m)
		return
	}
	c.spent, c.spentAt, c.voted = r.Spent, w.now, len(r.Votes) > 0
	c.sent[c.sequence%urgentMost] = w.now
	c.sequence++
	r.Leaf, r.Node, r.Locality, r.Incarnation, r.Sequence = c.name, c.name, w.plane.localities[c.locality], 1, c.sequence
	r.At, r.Interval, r.Term, r.LastGrant = w.now, interval, term, c.granted
	if w.away() { // a gap, never a zero
		w.plane.mail.give(m)
		return
	}
	w.post(m, c, letterReport)
}

// pauses tells whether what pauses is news.
func (c *client) pauses(spent []route.SpentQuota) bool {
	return !slices.Equal(spent, c.spent) || len(spent) > 0 && c.world.now-c.spentAt >= spentEvery
}

// apply takes a state of the fleet.
func (c *client) apply(s *state) {
	if s.version <= c.version {
		return
	}
	w := c.world
	snapshot := w.plane.snapshot(w, s, c.locality)
	if snapshot == nil {
		return
	}
	c.version, c.fleet = s.version, s.fleet
	c.router.Apply(w.now, snapshot)
	for _, name := range s.held[c.locality] {
		w.avoids(c, name, w.now)
	}
}

func (c *client) grant(p route.Permit) {
	c.granted = max(c.granted, p.Number)
	c.router.Grant(c.world.now, p)
}
