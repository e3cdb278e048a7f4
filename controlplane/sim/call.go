package sim

import (
	"fmt"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/controlplane/sim/measure"
	"github.com/pointsman/pointsman/controlplane/sim/server"
	"github.com/pointsman/pointsman/controlplane/sim/traffic"
)

// phase is what a call does until its time comes.
type phase uint8

const (
	ended   phase = iota
	backing       // off, as the core says
	queued        // in the library
	sent          // an attempt is in flight
	resting       // the caller pauses before it asks anew
)

// call is one call of a caller, whatever it takes: the SDK around the library may make it
// several times.
type call struct {
	world   *world
	client  *client
	number  int32
	arrival traffic.Arrival // with slices of its own
	input   int64           // tokens, as they were counted
	end     int64           // of the caller's patience, or when it leaves
	spec    *route.Workload
	phase   phase
	until   int64 // what it does now lasts that long at most
	tries
	waiting
	attempt
}

// tries are what was made of a call so far.
type tries struct {
	core    route.Call
	began   int64             // the core's
	again   int               // how often it was made anew
	made    int               // attempts of all times
	failure route.OutcomeKind // that its caller is told of
	wrong   bool              // an answer was delivered that a validator would refuse
}

// attempt is the latest.
type attempt struct {
	taken   route.Attempt
	limits  route.Limits
	place   int32
	at      int64
	firstAt int64       // 0: it has not come
	bounds  string      // the limit that ends it
	job     *server.Job // nil: it has ended
	work    server.Job
}

// calls are used again and again: only those that are on their way at once take memory.
type calls struct {
	all  []*call
	free []*call
	live int
}

func (s *calls) take(w *world) *call {
	s.live++
	if len(s.free) == 0 {
		c := &call{world: w, number: int32(len(s.all))}
		s.all = append(s.all, c)
		return c
	}
	c := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	return c
}

// arrive makes the next call.
func (w *world) arrive() {
	a := &w.traffic.ahead
	c := w.calls.take(w)
	needs, blocks := c.arrival.Needs[:0], c.arrival.Blocks[:0]
	needs, blocks = append(needs, a.Needs...), append(blocks, a.Blocks...)
	c.arrival = *a
	c.arrival.Needs, c.arrival.Blocks = needs, blocks
	c.client = &w.clients[a.Client]
	if c.spec == nil || c.spec.Name != a.Workload {
		c.spec = w.rights.workloads[a.Workload]
	}
	c.tries, c.firstAt, c.at = tries{}, 0, 0
	c.input = w.count(a.Input)
	c.end = forever
	if a.Deadline > 0 {
		c.end = a.At + a.Deadline
	}
	if a.Cancel > 0 {
		c.end = min(c.end, a.At+a.Cancel)
	}
	if c.spec == nil {
		w.err = fmt.Errorf("arrival %d: workload %q is not in the catalog: declare it, or label the traffic otherwise", w.traffic.count-1, a.Workload)
		return
	}
	w.ahead()
	c.begin()
}

// count is how many tokens the caller takes its input for.
func (w *world) count(input int64) int64 {
	if w.Callers.Estimate == 0 {
		return input
	}
	return max(1, int64(float64(input)*max(0, 1+w.Callers.Estimate*w.estimates.normal())))
}

// begin asks the library, the first time or anew.
func (c *call) begin() {
	w, a := c.world, &c.arrival
	q := route.Request{
		Tenant: a.Tenant, Needs: a.Needs, Session: a.Key, Prefix: a.Key, Stream: a.Stream, Input: c.input, MaxOutput: a.MaxOutput,
	}
	if a.Deadline > 0 {
		q.Deadline = a.At + a.Deadline
	}
	c.began = w.now
	c.core = c.client.router.Begin(w.now, a.Workload, q)
	c.client.queue.advance(c)
}

// step is what the core says.
func (c *call) step() route.Step {
	c.client.asking = c
	return c.client.router.Next(c.world.now, uint32(c.client.seeds.next()>>32), &c.core)
}

// take does it.
func (c *call) take(s *route.Step) {
	switch s.Kind {
	case route.Wait:
		c.wait(backing, s.Until)
	case route.Send:
		c.send(s)
	default:
		c.fail(s.Err)
	}
}

// wait has the call do nothing until then. Its turn in the agenda may be sooner: it only
// moves when it must.
func (c *call) wait(p phase, until int64) {
	c.phase, c.until = p, until
	if at := min(until, c.end); at < c.world.agenda.due(ofCall, c.number) {
		c.world.agenda.set(ofCall, c.number, at)
	}
}

// wake is the call's turn.
func (w *world) wake(c *call) {
	at := min(c.until, c.end)
	switch {
	case c.phase == ended:
		w.agenda.set(ofCall, c.number, forever)
		return
	case w.now < at:
		w.agenda.set(ofCall, c.number, at)
		return
	}
	w.agenda.set(ofCall, c.number, forever)
	switch {
	case w.now >= c.end:
		c.leave()
	case c.phase == backing:
		c.client.queue.advance(c)
	case c.phase == queued:
		c.client.queue.remove(c)
		c.fail(c.why)
	case c.phase == resting:
		c.begin()
	case c.phase == sent:
		w.drop(c)
		c.settle(&route.Outcome{Kind: route.TimedOut, Detail: c.bounds})
	}
}

// leave is the caller's: its patience is at its end.
func (c *call) leave() {
	switch c.phase {
	case queued:
		c.client.queue.remove(c)
		c.refused(c.why)
	case sent:
		c.world.drop(c)
		c.settle(&route.Outcome{Kind: route.Cancelled})
		return
	}
	c.over(&measure.Call{Ending: measure.Ending{Late: true}})
}

// drop tells the server that nobody waits any more.
func (w *world) drop(c *call) {
	s := w.servers[c.place]
	s.Drop(w.now, c.job)
	w.agenda.set(ofServer, c.place, s.Due())
}
