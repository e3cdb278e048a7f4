package route

// Inputs are what a score is made of; those that the strategy does not ask for are 0.
type Inputs struct {
	Load  float64 // requests in flight over the fleet, as far as known
	Time  float64 // µs to a first token that one more request would see
	Price float64 // of this request, µs at the workload's exchange rate
	Share float64

	Tokens float64 // outstanding over the fleet, as far as known
	Rate   float64 // tokens a minute that it may have
}

// scores tells whether the strategy compares two draws; others choose without a score.
func (s Strategy) scores() bool {
	return s == P2C || s == LeastLoaded || s == LeastTokens || s == WeightedLeastLatency
}

// score says how much one more request would cost; lower wins.
func (s Strategy) score(in *Inputs) float64 {
	switch s {
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

// inputs of a place for a call.
func (r *Router) inputs(now int64, p *pool, place int32, c *Call) Inputs {
	l, strategy := r.current[place], p.work.compiled.spec.Strategy
	switch strategy {
	case LeastLoaded:
		return Inputs{Load: l.load(now), Share: r.shareOf(now, p, place)}
	case WeightedLeastLatency:
		return Inputs{Load: l.load(now), Time: r.expect(now, p, place, c.request.Input), Share: r.shareOf(now, p, place)}
	case LeastTokens:
		return Inputs{Tokens: l.tokens(now), Rate: r.rate(p, place)}
	}
	in := Inputs{Load: l.load(now), Time: r.expect(now, p, place, c.request.Input)}
	if strategy == P2C && p.work.compiled.spec.MoneyPerMS > 0 {
		in.Price = p.work.price(l, &c.request)
	}
	return in
}

// shareOf is a share with its ramp.
func (r *Router) shareOf(now int64, p *pool, place int32) float64 {
	f := r.ramp(now, place, r.states.bits[place], p.ask.classes)
	return float64(f*float64(r.states.shares[place])) / shareUnit
}

// score is a place's for a call; the trial keeps what it is made of.
func (r *Router) score(now int64, p *pool, place int32, c *Call, t *trial) float64 {
	t.place, t.Inputs = place, r.inputs(now, p, place, c)
	return p.work.compiled.spec.Strategy.score(&t.Inputs)
}

// price is what this request would cost at an endpoint, in µs at the workload's exchange rate:
// not to the last pico-dollar, as what is charged is.
func (w *work) price(l *learned, q *Request) float64 {
	rate := w.compiled.spec.MoneyPerMS // nano-dollars a millisecond, which is pico-dollars a µs
	in, out := l.input, l.answer
	if l.graded {
		plain, _, _, answer := l.endpoint.Price.At(q.Input)
		in, out = float64(plain), float64(answer)
	}
	sum := float64(float64(q.Input)*in) + float64(float64(w.predict(q))*out)
	return sum / float64(rate)
}
