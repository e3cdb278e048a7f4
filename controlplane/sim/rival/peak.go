package rival

import (
	"math"

	"github.com/pointsman/pointsman/controlplane/sim"
)

// penalty is Finagle's for an endpoint that is busy and has not answered yet: Long.MaxValue >> 16.
const penalty = math.MaxInt64 >> 16

// peak is Finagle's Peak-EWMA over two choices (twitter/finagle PeakEwma.scala, P2CPick.scala;
// tower's and Linkerd's are the same rule): a mean of round trips that jumps to every peak and
// decays with time, toward 0 while nobody is asked, times what is in flight. Round trips are
// times to first token: of whole answers it would learn their lengths. Those that failed before
// one are not learned from, lest failing fast be taken for speed; neither are answers that are
// not streamed, so that among those it compares what is in flight. It knows what its own client
// has in flight and has met. Finagle's 10 s are for many requests a second: where a client asks
// each of 40 servers once in 20 s, all it learned is nought by then. 120 s serve it best there
// (p99 at load 0.8 with four servers at 0.3 of their speed: 6.9 s, with 10 s 670 s).
type peak struct {
	own
	decay   float64 // µs
	metrics []metric
}

// metric is one client's of one place. Costs are µs.
type metric struct {
	stamp int64
	cost  float64
}

func startPeak(v *sim.View, is map[string]float64) sim.Rival {
	return &peak{own: newOwn(v), decay: is["decay"] * 1e6,
		metrics: make([]metric, v.Clients*len(v.Names))}
}

// Choose compares two.
func (r *peak) Choose(now int64, q *sim.Query) int {
	d := drawsOf(q.Seed)
	a, b := d.pair(len(q.Eligible))
	if r.load(now, q.Client, q.Eligible[b]) < r.load(now, q.Client, q.Eligible[a]) {
		return b
	}
	return a
}

// load is cost × (pending + 1); asking lets the cost decay.
func (r *peak) load(now int64, client, place int32) float64 {
	m := r.metric(client, place)
	m.observe(now, 0, r.decay)
	pending := r.of(client)[place]
	if m.cost == 0 && pending != 0 {
		return penalty + float64(pending)
	}
	return m.cost * float64(pending+1)
}

// First observes what the client has met.
func (r *peak) First(now int64, client, place int32, waited int64) {
	r.metric(client, place).observe(now, float64(waited), r.decay)
}

func (r *peak) metric(client, place int32) *metric {
	return &r.metrics[int(client)*r.places+int(place)]
}

// observe is the peak rule: up at once, down by the time that has passed.
func (m *metric) observe(now int64, trip, decay float64) {
	if trip > m.cost {
		m.cost = trip
	} else {
		w := math.Exp(-float64(max(now-m.stamp, 0)) / decay)
		m.cost = m.cost*w + trip*(1-w)
	}
	m.stamp = now
}
