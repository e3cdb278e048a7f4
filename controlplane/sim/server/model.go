package server

import (
	"errors"
	"fmt"
	"math"
)

// Model is what an endpoint does. One of Own and Hosted is there.
type Model struct {
	Own     *Own
	Hosted  *Hosted
	Quality Quality
}

// Quality is which of its answers a validator would take. The zero value: all of them.
type Quality struct {
	Valid      float64 // the part that it takes; 0: all
	UptoTokens int64   // of input and output; 0: whatever they are
	Beyond     float64 // and the part above that
}

// refuses draws from the request's own luck: what is hard is hard for every model, and only
// the better ones can do it.
func (q *Quality) refuses(j *Job) bool {
	valid := q.Valid
	if valid == 0 {
		valid = 1
	}
	if q.UptoTokens > 0 && j.Input+j.Output > q.UptoTokens {
		valid = q.Beyond
	}
	return valid < 1 && luck(uint64(j.Chance), ofQuality) >= valid
}

// Check tells every fault of a model.
func (m *Model) Check() error {
	var f findings
	switch {
	case (m.Own == nil) == (m.Hosted == nil):
		f.add("a server is an engine of one's own or hosted: say one of them")
	case m.Own != nil:
		m.Own.check(&f)
	default:
		m.Hosted.check(&f)
	}
	f.part("valid", m.Quality.Valid)
	f.part("beyond", m.Quality.Beyond)
	f.count("upto_tokens", m.Quality.UptoTokens)
	if m.Quality.Beyond != 0 && m.Quality.UptoTokens == 0 {
		f.add("beyond: without upto_tokens nothing is beyond")
	}
	return f.err()
}

// Capacity is how many requests a second of a mean size it can answer for long when it
// remembers none of their prompts; endless without a limit.
func (m *Model) Capacity(input, output float64) float64 {
	if m.Own != nil {
		return m.Own.capacity(input, output)
	}
	return m.Hosted.capacity(input, output)
}

func (m *Model) speed() float64 {
	if m.Own != nil {
		return or(m.Own.Speed, 1)
	}
	return (defaultStep + defaultStepEach) / max(m.Hosted.mean().Each, 1)
}

func or[T int | int64 | float64](value, zero T) T {
	if value == 0 {
		return zero
	}
	return value
}

// findings are what is wrong, by attribute.
type findings []error

func (f *findings) add(format string, values ...any) { *f = append(*f, fmt.Errorf(format, values...)) }

func (f *findings) err() error { return errors.Join(*f...) }

func (f *findings) part(name string, value float64) {
	if !(value >= 0 && value <= 1) {
		f.add("%s: %v is not within 0 to 1", name, value)
	}
}

func (f *findings) positive(name string, value float64) {
	if !(value >= 0) || value > 1e12 {
		f.add("%s: %v is not within 0 (the default) to 1e12", name, value)
	}
}

func (f *findings) count(name string, value int64) {
	if value < 0 || value > 1e12 {
		f.add("%s: %d is not within 0 to 1e12", name, value)
	}
}

// what is drawn.
const (
	ofQuality uint64 = iota + 1
	ofLatency
	ofFault // and on: one for each
)

// luck is a number in [0, 1) that only depends on what it is of.
func luck(seed, of uint64) float64 {
	x := mix(seed + of*0x9E3779B97F4A7C15)
	return float64(x>>11) / (1 << 53)
}

// mix is splitmix64's.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xBF58476D1CE4E5B9
	x ^= x >> 27
	x *= 0x94D049BB133111EB
	return x ^ x>>31
}

const (
	second = 1_000_000 // µs
	minute = 60 * second
)

var endless = math.Inf(1)
