package traffic

import (
	"math"
	"math/bits"
)

// stream is one stream of chance: splitmix64.
type stream struct{ s uint64 }

// purpose keeps what is drawn for one thing from moving with what is drawn for another.
type purpose uint64

const (
	forTicks purpose = iota + 1
	forClients
	forChances
	forLeaving
	forGaps
	forInputs
	forOutputs
	forKeys
	forSessions
	forPrompts
)

// drawn is a source's stream for a purpose.
func drawn(seed uint64, name string, p purpose) stream {
	return stream{mix(mix(seed^hash(name)) + uint64(p))}
}

func (r *stream) next() uint64 {
	r.s += 0x9E3779B97F4A7C15
	return mix(r.s)
}

// unit is in (0, 1), never at an end: logarithms of it are finite.
func (r *stream) unit() float64 { return (float64(r.next()>>11) + 0.5) / (1 << 53) }

// normal is by the inverse of its distribution: one draw each, so that streams stay in step.
func (r *stream) normal() float64 { return math.Sqrt2 * math.Erfinv(2*r.unit()-1) }

// exponential has the mean 1.
func (r *stream) exponential() float64 { return -math.Log(r.unit()) }

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// hash is FNV-1a, 64 bits.
func hash(s string) uint64 {
	h := uint64(0xCBF29CE484222325)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 0x100000001B3
	}
	return h
}

// gamma draws from a Gamma distribution of a shape and the mean 1 (Marsaglia and Tsang, 2000).
type gamma struct {
	d, c  float64
	power float64 // of a uniform draw, by which a shape below 1 comes from that above; 0: none
	mean  float64 // of what is drawn before it is scaled
}

func newGamma(shape float64) gamma {
	g := gamma{mean: shape}
	if shape < 1 {
		g.power = 1 / shape
		shape++
	}
	g.d = shape - 1.0/3
	g.c = 1 / math.Sqrt(9*g.d)
	return g
}

func (g *gamma) draw(r *stream) float64 {
	x := g.above(r) / g.mean
	if g.power > 0 {
		x *= math.Pow(r.unit(), g.power)
	}
	return x
}

// above draws for a shape of at least 1.
func (g *gamma) above(r *stream) float64 {
	for {
		x := r.normal()
		v := 1 + g.c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		u := r.unit()
		if u < 1-0.0331*x*x*x*x || math.Log(u) < x*x/2+g.d*(1-v+math.Log(v)) {
			return g.d * v
		}
	}
}

// zipf is the parts of n, in proportion to (i+1)^−s, that make up 1.
func zipf(n int, s float64) []float64 {
	parts, sum := make([]float64, n), 0.0
	for i := range parts {
		parts[i] = math.Pow(float64(i+1), -s)
		sum += parts[i]
	}
	for i := range parts {
		parts[i] /= sum
	}
	return parts
}

// table draws an index by its part in constant time (Vose's alias method).
type table struct {
	own   []uint64 // the column itself below this part of 2⁶⁴, else its alias
	alias []int32
}

func newTable(parts []float64) *table {
	n := len(parts)
	t := &table{make([]uint64, n), make([]int32, n)}
	p := make([]float64, n)
	var small, large []int32
	for i := range parts {
		p[i] = parts[i] * float64(n)
		t.own[i] = math.MaxUint64
		if p[i] < 1 {
			small = append(small, int32(i))
		} else {
			large = append(large, int32(i))
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		t.own[s], t.alias[s] = uint64(p[s]*(1<<63))<<1, l
		if p[l] += p[s] - 1; p[l] < 1 {
			large, small = large[:len(large)-1], append(small, l)
		}
	}
	return t
}

func (t *table) at(u uint64) int {
	column, coin := bits.Mul64(u, uint64(len(t.own)))
	if coin <= t.own[column] {
		return int(column)
	}
	return int(t.alias[column])
}
