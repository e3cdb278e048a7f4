package measure

import "math"

// Slowdown is how many times longer the calls of a part took to their first tokens than they
// would have with nobody else there; where that is not known, than those of all did. Calls
// that were not served count as if they waited forever: of a part p that was served, it is
// 1/p times as much.
func (r *Result) Slowdown(m *Measures) float64 {
	if m.Served == 0 {
		return math.Inf(1)
	}
	alone := float64(m.Alone)
	if alone == 0 {
		alone = r.All.TTFT.Mean() * float64(m.Served)
	}
	if alone == 0 {
		return 1
	}
	return m.TTFT.Mean() * float64(m.Served) / alone / over(m.Served, m.Calls)
}

// fairness is Jain's index, over tenants, of the inverse of their slowdowns. Tenants that ask
// for much and for little count alike, and so do long and short prompts: what is compared is
// how fast each is served, next to how fast it could be.
func (r *Result) fairness() float64 {
	var speeds []float64
	for i := range r.By.Tenants {
		if m := &r.By.Tenants[i].Measures; m.Calls > 0 {
			speeds = append(speeds, 1/r.Slowdown(m))
		}
	}
	return jain(speeds)
}

// worstSlowdown is of the tenant that has the highest.
func (r *Result) worstSlowdown() (worst float64) {
	for i := range r.By.Tenants {
		if m := &r.By.Tenants[i].Measures; m.Calls > 0 {
			worst = max(worst, r.Slowdown(m))
		}
	}
	return worst
}
