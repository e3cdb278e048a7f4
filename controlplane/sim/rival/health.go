package rival

import (
	"math"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/controlplane/sim"
)

// Error aversion: Prequal's paper says that servers that fail must not look fast, and does not
// disclose its rule. This one is as strong as we could make it: answers to probes carry the
// server's own success rate, of all clients' requests.
const (
	forgetting = 10e6  // µs, the mean life of an outcome
	failing    = 0.125 // who is not better is asked last
)

// health is each server's success rate.
type health struct {
	power   float64
	records []record
}

type record struct {
	at             int64
	served, failed float64 // decayed
}

func newHealth(v *sim.View, power float64) *health {
	return &health{power, make([]record, len(v.Names))}
}

// learn counts an outcome that is the endpoint's doing.
func (h *health) learn(now int64, place int32, kind route.OutcomeKind) {
	r := &h.records[place]
	switch kind {
	case route.Served:
		r.decay(now)
		r.served++
	case route.Faulted, route.TimedOut, route.Limited, route.Unauthorized, route.Missing, route.Invalid:
		r.decay(now)
		r.failed++
	}
}

func (r *record) decay(now int64) {
	keep := math.Exp(-float64(now-r.at) / forgetting)
	r.served, r.failed, r.at = r.served*keep, r.failed*keep, now
}

// of is a place's success rate, with one success more, to the power; 1 where nothing failed.
func (h *health) of(now int64, place int32) float64 {
	r := &h.records[place]
	if h.power == 0 || r.failed == 0 {
		return 1
	}
	r.decay(now)
	return math.Pow((r.served+1)/(r.served+r.failed+1), h.power)
}

// timers are pools by when they want to probe unasked. All wait equally long: a queue.
type timers struct {
	queue []timer
	head  int
}

type timer struct {
	at   int64
	pool *pool
}

func (t *timers) add(at int64, p *pool) {
	if t.head > 1024 && t.head > len(t.queue)/2 {
		t.queue = append(t.queue[:0], t.queue[t.head:]...)
		t.head = 0
	}
	t.queue = append(t.queue, timer{at, p})
}

// due takes the next pool whose time has come and that has sent no probes since; nil: none.
func (t *timers) due(now, idle int64) *pool {
	for t.head < len(t.queue) && t.queue[t.head].at <= now {
		next := t.queue[t.head]
		t.head++
		if next.pool.probed+idle == next.at {
			return next.pool
		}
	}
	return nil
}
