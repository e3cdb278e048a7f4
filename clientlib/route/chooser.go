package route

// Chooser takes the place of every strategy and affinity: of what passes the gates it chooses
// one by its index. Places count the snapshot's endpoints by name; they ascend, and are good
// until it returns. The simulator compares other balancers with ours by it, behind the same
// gates, breakers and retries.
type Chooser func(now int64, seed uint32, eligible []int32) int

// ChooseBy has a chooser choose from now on; nil: the catalog's strategies.
func (r *Router) ChooseBy(f Chooser) { r.chooser = f }

// asked lets the chooser choose in one tier. Members that only ramp wait for their turn, as long
// as there are others.
func (r *Router) asked(now int64, d *draws, p *pool, tier int, c *Call) int32 {
	r.eligible = r.eligible[:0]
	for _, place := range p.members(tier) {
		if reason := r.gate(now, p, place, c); reason != Pass {
			r.refuse(now, place, reason)
		} else if takes(d, r.ramped(now, p, tier, place)) {
			r.eligible = append(r.eligible, place)
		}
	}
	if len(r.eligible) == 0 {
		t := tries{tier: tier}
		return r.choice.found(WayDrawn, r.exactly(now, d, p, c, &t))
	}
	return r.choice.found(WayDrawn, r.eligible[r.chooser(now, d.next(), r.eligible)])
}
