package route

// Draw is draw k of a seed: 32 bits, the same in every language.
func Draw(seed, k uint32) uint32 {
	x := seed + k*0x9E3779B9
	x = (x ^ x>>16) * 0x7FEB352D
	x = (x ^ x>>15) * 0x846CA68B
	return x ^ x>>16
}

// Index maps a draw to 0 … n−1.
func Index(u uint32, n int) int { return int(uint64(u) * uint64(n) >> 32) }

// upTo maps a draw to 0 … n−1 of a duration; 0 when n is not positive.
func upTo(u uint32, n int64) int64 { return int64(uint64(u) * uint64(max(n, 0)) >> 32) }

// draws hands out one seed's draws in order.
type draws struct{ seed, k uint32 }

func (d *draws) next() uint32 {
	u := Draw(d.seed, d.k)
	d.k++
	return u
}

// chance is what a router draws from when no seed is at hand: the upper half of the last
// seed's draws, so that it never meets those of Next.
type chance struct{ seed, k uint32 }

func (c *chance) draw() uint32 {
	c.k++
	return Draw(c.seed, c.k|1<<31)
}
