package route

import "github.com/pointsman/pointsman/clientlib/route/money"

// inputs are what a score is made of. Records keep them.
type inputs struct {
	load  float64 // requests in flight over the fleet, as far as known
	time  float64 // µs to a first token that one more request would see
	price float64 // of this request, µs at the workload's exchange rate
	share float64
}

// score says how much one more request would cost; lower wins.
func (s Strategy) score(in *inputs) float64 {
	switch s {
	case LeastLoaded:
		return (in.load + 1) / in.share
	case WeightedLeastLatency:
		return float64((in.load+1)*max(1, in.time/latencyUnit)) / in.share
	}
	return float64((in.load+1)*in.time) + in.price
}

const latencyUnit = 100_000 // µs, of weighted_least_latency (requirements.md, A3)

// inputs of a place for a call.
func (r *Router) inputs(now int64, p *pool, place int32, c *Call) inputs {
	in := inputs{load: r.current[place].load(now)}
	strategy := p.work.compiled.spec.Strategy
	if strategy != LeastLoaded {
		in.time = r.expect(now, p, place, c.request.Input)
	}
	if strategy != P2C {
		in.share = r.shareOf(now, p, place)
	} else if p.work.compiled.spec.MoneyPerMS > 0 {
		in.price = p.work.price(r.current[place].facts.endpoint, &c.request)
	}
	return in
}

// shareOf is a share with its ramp.
func (r *Router) shareOf(now int64, p *pool, place int32) float64 {
	f := r.ramp(now, place, r.states.bits[place], p.ask.classes)
	return float64(f*float64(r.states.shares[place])) / shareUnit
}

func (r *Router) score(now int64, p *pool, place int32, c *Call) float64 {
	in := r.inputs(now, p, place, c)
	return p.work.compiled.spec.Strategy.score(&in)
}

// price is what this request would cost at an endpoint, in µs at the workload's exchange rate.
func (w *work) price(e *Endpoint, q *Request) float64 {
	rate := w.compiled.spec.MoneyPerMS // nano-dollars a millisecond, which is pico-dollars a µs
	cost := e.Price.Cost(money.Usage{Input: q.Input, Output: w.predict(q)})
	return float64(float64(cost)*1000) / float64(rate)
}

// predict is how many tokens the answer will have, as the workload's answers had.
func (w *work) predict(q *Request) int64 {
	n := int64(firstOutput)
	if w.output.n > 0 {
		n = int64(w.output.value)
	}
	if q.MaxOutput > 0 {
		n = min(n, q.MaxOutput)
	}
	return n
}
