package sim

import (
	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/controlplane/sim/measure"
	"github.com/pointsman/pointsman/controlplane/sim/server"
)

// send makes an attempt.
func (c *call) send(s *route.Step) {
	w, a := c.world, &c.arrival
	c.made++
	c.taken, c.limits, c.place = s.Attempt, s.Limits, w.places[s.Endpoint.Name]
	c.at, c.firstAt = w.now, 0
	c.work = server.Job{Input: a.Input, Output: a.Output, Stream: a.Stream, Blocks: a.Blocks, Chance: a.Chance, ID: c.number}
	if c.made > 1 { // what befell the one before says nothing of this one
		c.work.Chance = route.Draw(a.Chance, uint32(c.made))
	}
	c.job = &c.work
	c.bound("answer", c.limits.Answer)
	if a.Stream {
		c.bound("first_token", c.limits.FirstToken)
	}
	to := w.servers[c.place]
	to.Take(w.now, c.job)
	w.agenda.set(ofServer, c.place, to.Due())
	for _, t := range w.trials {
		t.sent(w.now, c.place)
	}
	if w.rival != nil {
		w.rival.Sent(w.now, c.client.number, c.place, a)
	}
}

// bound is what ends the attempt, if the total does not before.
func (c *call) bound(name string, limit int64) {
	c.bounds = name
	if limit >= c.limits.Total-(c.world.now-c.at) {
		c.bounds = "total"
	}
	c.wait(sent, min(c.world.now+limit, c.at+c.limits.Total))
}

// first is the first token.
func (c *call) first() {
	w := c.world
	c.client.router.FirstToken(w.now, c.taken)
	if w.rival != nil {
		w.rival.First(w.now, c.client.number, c.place, w.now-c.at)
	}
	c.firstAt = w.now
	if !c.spec.Whole {
		c.client.router.Content(w.now, c.taken)
	}
	c.bound("total", c.limits.Total) // no server that has begun to answer stands still
}

// answered is the end that the server knows of.
func (c *call) answered(n *server.News) {
	switch {
	case n.Invalid && c.world.Callers.Validate:
		n.Outcome.Kind = route.Invalid
	case n.Invalid:
		c.wrong = true
	}
	c.settle(&n.Outcome)
}

// settle ends the attempt and goes on.
func (c *call) settle(o *route.Outcome) {
	w := c.world
	c.phase, c.job = backing, nil
	c.client.router.Settle(w.now, c.taken, *o)
	last := c.core.Last().Kind
	c.record(o, last)
	if w.rival != nil {
		w.rival.Ended(w.now, c.client.number, c.place, last)
	}
	c.client.nudge()
	w.tried(c, last)
	c.client.queue.freed()
	switch {
	case last == route.Served:
		c.over(&measure.Call{
			Ending: measure.Ending{Served: true, Wrong: c.wrong}, Tokens: measure.Tokens{Cached: o.Usage.Cached, Output: o.Usage.Output},
		})
	case w.now >= c.end:
		c.over(&measure.Call{Ending: measure.Ending{Late: true}})
	default:
		if c.failure == route.Abandoned || !hides(last) {
			c.failure = last
		}
		c.client.queue.advance(c)
	}
}

// hides tells whether an outcome is no news where an earlier attempt failed (clientlib.Do).
func hides(k route.OutcomeKind) bool {
	return k == route.Refused || k == route.TooLong || k == route.Missing
}

// record notes an attempt.
func (c *call) record(o *route.Outcome, kind route.OutcomeKind) {
	w := c.world
	a := &measure.Attempt{
		At: c.at, First: c.firstAt, End: w.now, Place: int(c.place), Served: kind == route.Served, Outcome: kind.String(),
		Invalid: kind == route.Invalid || c.wrong, Violation: !w.rights.allow(c, c.place),
		Asker: c.asker(), Tokens: measure.Tokens{Input: c.arrival.Input},
	}
	if o.HasUsage {
		a.Tokens = measure.Tokens{Input: o.Usage.Input, Cached: o.Usage.Cached, Output: o.Usage.Output}
		a.Cost = w.specs[c.place].Price.Cost(o.Usage)
	}
	w.recorder.Attempt(a)
}
