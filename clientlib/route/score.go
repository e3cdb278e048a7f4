package route

import "github.com/pointsman/pointsman/clientlib/route/money"

// score says how much one more request would cost at a member; lower wins.
func (r *Router) score(now int64, p *pool, m *member, c *Call) float64 {
	load := m.load(now) + 1
	if p.work.compiled.spec.Strategy == LeastLoaded {
		return load / m.share
	}
	t := r.expect(now, p, m, c.request.Input)
	return float64(load*t) + p.work.price(m.facts.endpoint, &c.request)
}

// price is what this request would cost at an endpoint, in µs at the workload's exchange rate.
func (w *work) price(e *Endpoint, q *Request) float64 {
	rate := w.compiled.spec.MoneyPerMS // nano-dollars a millisecond, which is pico-dollars a µs
	if rate == 0 {
		return 0
	}
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
