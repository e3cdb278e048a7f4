package route

// docs/decisions/039-what-makes-first-tokens-late.md
const (
	largeFrom  = 3    // mean inputs, in a large request
	largeSpeed = 1.25 // so many times as quick is quicker: what is learned of equal ones differs by less
	lastInputs = 256  // requests whose mean says which are large
)

// inputs are how many tokens a workload's requests have: the mean of all, then of the latest.
type inputs struct {
	mean float64
	n    int64
}

func (m *inputs) learn(tokens int64) {
	m.n = min(m.n+1, lastInputs)
	m.mean += (float64(tokens) - m.mean) / float64(m.n)
}

// candidates is how many a request draws: two, and one for each mean input in its own.
func (m *inputs) candidates(tokens int64) int {
	if m.n == 0 || float64(tokens) < float64(largeFrom*m.mean) {
		return 2
	}
	return int(min(float64(tokens)/m.mean, maxDraws))
}

// quickest is two draws, but for a large request the two quickest of several. What makes it slow is
// its own prompt, and speeds do not age: it may look further without running after old loads,
// as two alone are compared by those. Large ones are few.
func (r *Router) quickest(now int64, d *draws, p *pool, c *Call, t *tries) int32 {
	a := r.fetch(now, d, p, c, t)
	if a == nowhere {
		return nowhere
	}
	b := r.fetch(now, d, p, c, t)
	if n := p.work.input.candidates(c.request.Input); n > 2 {
		f := r.foresight(now, p)
		for k := 2; k < n && t.left > 0; k++ {
			f.replace(&a, &b, r.fetch(now, d, p, c, t))
		}
	}
	if a == b {
		return r.choice.found(WayDrawn, a)
	}
	return r.compare(now, d, p, c, a, b)
}

// replace takes a third candidate in place of the slower of two, of equal ones the second, if it is quicker.
func (f *foresight) replace(a, b *int32, third int32) {
	slower := b
	if f.manners[*a].quick < f.manners[*b].quick {
		slower = a
	}
	if f.manners[third].quick > float64(largeSpeed*f.manners[*slower].quick) {
		*slower = third
	}
}
