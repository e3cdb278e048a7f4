package route

import (
	"github.com/pointsman/pointsman/clientlib/route/limit"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

// Inputs are what a score is made of; those that the strategy does not ask for are 0.
type Inputs struct {
	Load  float64 // requests in flight over the fleet, as far as known
	Time  float64 // µs to a first token that one more request would see
	Price float64 // of this request, µs at the workload's exchange rate
	Share float64

	Tokens float64 // over the fleet, as far as known: outstanding; by predictive those of prompts that wait
	Rate   float64 // tokens a minute that it may have

	Temper float64 // of predictive: what the age of the loads takes back
	Health float64 // of predictive: what slowdown and failures multiply the time with
}

// scores tells whether the strategy compares two draws; others choose without a score.
func (s Strategy) scores() bool {
	return s == P2C || s == LeastLoaded || s == LeastTokens || s == WeightedLeastLatency || s == Predictive || s == CostTiered
}

// score says how much one more request would cost; lower wins.
func (s Strategy) score(in *Inputs) float64 {
	switch s {
	case Predictive:
		return float64(float64(in.Time*in.Temper)*in.Health) + in.Price
	case LeastLoaded:
		return (in.Load + 1) / in.Share
	case WeightedLeastLatency:
		return float64((in.Load+1)*max(1, in.Time/latencyUnit)) / in.Share
	case LeastTokens:
		return in.Tokens / in.Rate
	}
	return float64((in.Load+1)*in.Time) + in.Price
}

const latencyUnit = 100_000 // µs, of weighted_least_latency (requirements.md, A3)

// inputs are filled in for a place and a call, of whose prompt the place is expected to have
// some tokens cached.
func (r *Router) inputs(now int64, p *pool, place int32, c *Call, cached int64, in *Inputs) {
	l, spec := r.current[place], p.work.compiled.spec
	*in = Inputs{}
	switch spec.Strategy {
	case Predictive:
		r.predict(now, p, place, c, cached, in)
		in.Price = r.need.worth(l, spec.MoneyPerMS, cached)
	case P2C, CostTiered:
		in.Load, in.Time = r.loadIn(now, p, place), r.expect(now, p, place, c.request.Input)
		in.Price = r.need.worth(l, spec.MoneyPerMS, cached)
		if cached > 0 {
			in.Time = float64(in.Time*float64(prefill(c.request.Input-cached))) / float64(prefill(c.request.Input))
		}
	case LeastLoaded:
		in.Load, in.Share = r.loadIn(now, p, place), r.shareOf(now, p, place)
	case WeightedLeastLatency:
		in.Load, in.Time, in.Share = r.loadIn(now, p, place), r.expect(now, p, place, c.request.Input), r.shareOf(now, p, place)
	case LeastTokens:
		in.Tokens, in.Rate = l.tokens(now), r.rate(p, place)
	default:
		in.Load, in.Time = r.loadIn(now, p, place), r.expect(now, p, place, c.request.Input)
	}
}

// shareOf is a share with its ramp.
func (r *Router) shareOf(now int64, p *pool, place int32) float64 {
	f := r.ramp(now, place, r.states.bits[place], p.ask.classes)
	return float64(f*float64(r.states.shares[place])) / shareUnit
}

// score is a place's for a call; the trial keeps what it is made of.
func (r *Router) score(now int64, p *pool, place int32, c *Call, cached int64, t *trial) float64 {
	t.place = place
	r.inputs(now, p, place, c, cached, &t.Inputs)
	return p.work.compiled.spec.Strategy.score(&t.Inputs)
}

// worth is what the call at hand would cost at an endpoint, in µs at an exchange rate, which
// is in pico-dollars a µs: not to the last pico-dollar, as what is charged is. Without a rate
// it is worth nothing.
func (n *need) worth(l *learned, rate money.Nano, cached int64) float64 {
	switch {
	case rate <= 0:
		return 0
	case l.graded || cached > 0:
		return n.graded(l, rate, cached)
	}
	sum := float64(float64(n.use[limit.Input])*float64(l.input)) + float64(float64(n.answer)*float64(l.answer))
	return sum / float64(rate)
}

// graded is the same where the prices at hand do not do.
func (n *need) graded(l *learned, rate money.Nano, cached int64) float64 {
	input := n.use[limit.Input]
	plain, reuse, _, answer := l.endpoint.Price.At(input)
	sum := float64(float64(input-cached)*float64(plain)) + float64(float64(cached)*float64(reuse)) + float64(float64(n.answer)*float64(answer))
	return sum / float64(rate)
}
