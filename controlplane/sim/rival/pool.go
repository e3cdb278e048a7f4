package rival

import (
	"math"
	"slices"
)

// pool is one client's probes for one workload.
type pool struct {
	probes   []probe // answered, the oldest first; one of a place
	coming   []probe // answers under way
	ready    []probe // scratch
	recent   samples
	eligible []int32 // of the last query
	probed   int64   // when probes were sent last
	carry    float64 // parts of probes to be sent
	owed     float64 // and of those to be removed
	worst    bool    // is removed next, not the oldest
	draws    draws   // for what no query brings a seed for
}

// probe is what a server told.
type probe struct {
	place, flight int32
	at, latency   int64   // µs; latency 0: it has none to tell
	uses          int32   // left
	health        float64 // 1: nothing fails
}

// settle takes in what has arrived and forgets what is too old.
func (p *pool) settle(now int64, t *tuning) {
	left := p.coming[:0]
	for _, b := range p.coming {
		if b.at+t.delay > now {
			left = append(left, b)
			continue
		}
		p.probes = slices.DeleteFunc(p.probes, func(o probe) bool { return o.place == b.place })
		if len(p.probes) >= t.size {
			p.probes = slices.Delete(p.probes, 0, 1)
		}
		p.probes = append(p.probes, b)
	}
	p.coming = left
	p.probes = slices.DeleteFunc(p.probes, func(b probe) bool { return now-b.at > t.age })
}

// use counts a query at a place: one more in flight, one use less.
func (p *pool) use(place int32) {
	for i := range p.probes {
		if b := &p.probes[i]; b.place == place {
			b.flight++
			b.uses--
		}
	}
	for i := range p.coming {
		if b := &p.coming[i]; b.place == place {
			b.flight++
		}
	}
	p.probes = slices.DeleteFunc(p.probes, func(b probe) bool { return b.uses <= 0 })
}

// shrink removes the oldest and the worst by turns, and leaves two to compare.
func (p *pool) shrink(t *tuning) {
	for p.owed += t.remove; p.owed >= 1; p.owed-- {
		if len(p.probes) <= 2 {
			continue
		}
		at := 0
		if p.worst {
			at = worst(p.probes, p.recent.quantile(t.quantile))
		}
		p.worst = !p.worst
		p.probes = slices.Delete(p.probes, at, at+1)
	}
}

// worst is the hot probe with the most in flight, else the cold one with the most latency.
func worst(probes []probe, limit int32) int {
	at := 0
	for i, b := range probes {
		w := probes[at]
		switch hot := b.flight > limit; {
		case hot != (w.flight > limit):
			if hot {
				at = i
			}
		case hot && b.flight > w.flight, !hot && b.latency > w.latency:
			at = i
		}
	}
	return at
}

// choose is the hot-cold lexicographic rule: among cold probes, whose requests in flight are at
// most the limit, the least latency; if all are hot, the least in flight. Latency that a server
// cannot tell counts as the mean of the others. Both are divided by health (error aversion),
// and who fails every other time comes last. Equal ones are drawn among.
func choose(probes []probe, limit int32, d *draws) int {
	unknown, best, equal, at := meanLatency(probes), [2]float64{}, 0, 0
	for i, b := range probes {
		key := b.key(limit, unknown)
		c := -1
		if equal > 0 {
			c = slices.Compare(key[:], best[:])
		}
		if c < 0 {
			best, at, equal = key, i, 1
		} else if c == 0 {
			if equal++; d.index(equal) == 0 {
				at = i
			}
		}
	}
	return at
}

// key orders probes: cold, hot, failing.
func (b *probe) key(limit int32, unknown float64) [2]float64 {
	latency := float64(b.latency)
	if b.latency == 0 {
		latency = unknown
	}
	switch {
	case b.health <= failing:
		return [2]float64{2, float64(b.flight+1) / b.health}
	case b.flight > limit:
		return [2]float64{1, float64(b.flight+1) / b.health}
	}
	return [2]float64{0, latency / b.health}
}

func meanLatency(probes []probe) float64 {
	sum, n := 0.0, 0.0
	for _, b := range probes {
		if b.latency > 0 {
			sum, n = sum+float64(b.latency), n+1
		}
	}
	return sum / max(n, 1)
}

// sampled is how many of the latest answers the quantile is of.
const sampled = 128

// samples are the requests in flight that were seen last, in order of time and of size.
type samples struct {
	ring   [sampled]int32
	sorted []int32
	next   int
}

func (s *samples) add(flight int32) {
	if len(s.sorted) == sampled {
		i, _ := slices.BinarySearch(s.sorted, s.ring[s.next])
		s.sorted = slices.Delete(s.sorted, i, i+1)
	}
	s.ring[s.next] = flight
	s.next = (s.next + 1) % sampled
	i, _ := slices.BinarySearch(s.sorted, flight)
	s.sorted = slices.Insert(s.sorted, i, flight)
}

// quantile is the least sample that a part q of them does not exceed; without any, all is cold.
func (s *samples) quantile(q float64) int32 {
	n := len(s.sorted)
	if n == 0 {
		return math.MaxInt32
	}
	return s.sorted[min(n-1, max(0, int(math.Ceil(q*float64(n)))-1))]
}

// indexOf is where an ascending list has a place; −1: nowhere.
func indexOf(ascending []int32, place int32) int {
	if i, found := slices.BinarySearch(ascending, place); found {
		return i
	}
	return -1
}
