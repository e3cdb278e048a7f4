package route

import "github.com/pointsman/pointsman/clientlib/route/window"

const (
	baseTTFT     = 200_000 // µs: E = 200 ms + κ·input
	kappa        = 100     // µs a prompt token
	tpot         = 15_000  // µs an output token, until a speed is learned
	ownSamples   = 20      // from so many on a workload's own latency counts
	staleLatency = 30 * second
	latencyHalf  = 7 * second // of what was measured here
)

// prefill is E, the time to a first token that the input alone explains.
func prefill(input int64) int64 { return baseTTFT + kappa*input }

// expectation is how long an attempt should take that has so much to read and to write: E, and
// for what is not streamed the tokens of its answer too.
func (s *slot) expectation(uncached, output int64) int64 {
	e := prefill(uncached)
	if s.streamed() {
		return e
	}
	return e + int64(s.learned.tpot)*output
}

// latency is how long an endpoint takes, for the workload alone once it has samples enough.
func (r *Router) latency(w *work, place int32) *latency {
	if t := w.tallies[place]; t != nil && t.ttft.n >= ownSamples {
		return &t.latency
	}
	return &r.current[place].latency
}

// measured is the average time to first token.
func (r *Router) measured(w *work, place int32) *average { return &r.latency(w, place).ttft }

// expect is the time to first token that one more request would see, in µs: what was
// measured, the less of it the older it is; and more when the oldest unanswered attempt is
// late already.
func (r *Router) expect(now int64, p *pool, place int32, input int64) float64 {
	e, l := float64(prefill(input)), r.current[place]
	a := r.measured(p.work, place)
	trust := 0.0
	if a.n > 0 {
		trust = window.Decay(now-a.at, latencyHalf)
	}
	t := a.value
	if trust < 1 {
		neutral := r.neutral(now, p, e)
		t = neutral + float64(trust*(a.value-neutral))
	}
	if l.oldest >= 0 {
		t = max(t, float64(float64(now-l.since)/float64(l.expected))*e)
	}
	return t
}

// neutral is what is expected of an endpoint of which nothing is known here: the pool's median,
// else what the input explains. What the fleet sees of it is news to all at once, and would be
// followed in a herd.
func (r *Router) neutral(now int64, p *pool, explained float64) float64 {
	if median := r.middle(now, p); median > 0 {
		return median
	}
	return explained
}
