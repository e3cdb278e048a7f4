package route

// Stride is how far round robin goes through n members at a time: the number without a
// common divisor with n that is nearest to 0.618·n, of two the smaller.
func Stride(n int) int {
	want := 618 * n // thousandths
	low := want / 1000
	high := low + 1
	for {
		if want-1000*low <= 1000*high-want {
			if divisor(low, n) == 1 {
				return low
			}
			low--
		} else {
			if divisor(high, n) == 1 {
				return high
			}
			high++
		}
	}
}

// divisor is the greatest common one.
func divisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// rotation is where round robin stands in a tier: the next member, and how far it goes then.
// The zero value has not begun.
type rotation struct{ at, stride int }

// rotate takes the next member that passes every gate, from a random one on. Members that
// only ramp wait for their turn to be taken, as long as there are others.
func (r *Router) rotate(now int64, d *draws, p *pool, tier int, c *Call) int32 {
	places, turn, spare := p.members(tier), &p.tiers[tier].turn, nowhere
	if len(places) > 0 && turn.stride == 0 {
		*turn = rotation{Index(d.next(), len(places)), Stride(len(places))}
	}
	for range places {
		place := places[turn.at]
		turn.at = (turn.at + turn.stride) % len(places)
		if reason := r.gate(now, p, place, c); reason != Pass {
			r.refuse(now, place, reason)
			continue
		}
		if takes(d, r.ramped(now, p, tier, place)) {
			return place
		}
		spare = place
	}
	return spare
}
