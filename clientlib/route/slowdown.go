package route

import "github.com/pointsman/pointsman/clientlib/route/window"

const (
	slowdownHalf = 7 * second
	successHalf  = 20 * second
	fadeEvery    = 250_000 // µs: counts that fade do so at most that often
	halveEvery   = 30 * second
	tailSamples  = 200     // from so many on there is a 99th percentile (decision-core.md, Choosing)
	mixEvery     = 16      // samples from one blend to the next
	oneSlowdown  = 1 << 14 // slowdown 1 in a histogram
	mostSlowdown = 1 << 16 // where it ends
)

// latency is how long answers took: all of an endpoint, or those of one workload.
type latency struct {
	ttft     average
	slowdown float64 // average, of as many
	weight   float64 // samples of it, fading
	fadedAt  int64
}

// average weighs the newest sample by 0.2.
type average struct {
	value float64
	n     int64
	at    int64
}

func (a *average) add(now int64, v float64) {
	if a.n > 0 {
		v = blend(a.value, v)
	}
	a.value, a.at = v, now
	a.n++
}

func blend(old, v float64) float64 { return float64(0.2*v) + float64(0.8*old) }

// delay is what one attempt took: its time to first token in µs, or what stands for it, and
// how many times as long as the tokens explain that were read and written.
type delay struct{ ttft, slowdown float64 }

func (s *slot) delay(now int64, u used) delay {
	e := float64(prefill(u.uncached))
	if s.streamed() && s.firstAt > 0 {
		ttft := float64(s.firstAt - s.started)
		return delay{ttft, ttft / e}
	}
	slowdown := float64(now-s.started) / float64(s.expectation(u.uncached, u.output))
	return delay{float64(slowdown * e), slowdown}
}

// sample learns from an answer that came in whole. The first one of a cold endpoint says nothing.
func (s *slot) sample(now int64, d delay) {
	l := s.learned
	if l.cold {
		l.cold = false
		return
	}
	l.add(now, d)
	s.tally.add(now, d)
	if !l.spreads && s.tally.work.compiled.spec.Strategy == LatencyWeighted {
		l.spreads, l.spread = true, &spread{}
	}
	if l.spreads {
		l.spread.add(now, d.slowdown)
	}
}

// censored learns that a first token would have taken longer still: it only ever raises.
func (s *slot) censored(now int64) {
	if l := s.learned; !l.cold {
		d := s.delay(now, used{s.uncached(), s.output})
		l.raise(now, d)
		s.tally.raise(now, d)
	}
}

func (l *latency) add(now int64, d delay) {
	l.slow(now, d.slowdown)
	l.ttft.add(now, d.ttft)
}

func (l *latency) raise(now int64, d delay) {
	if l.ttft.n == 0 {
		return
	}
	if d.slowdown > l.slowdown {
		l.slow(now, d.slowdown)
	}
	if d.ttft > l.ttft.value {
		l.ttft.add(now, d.ttft)
	}
}

func (l *latency) slow(now int64, v float64) {
	if l.ttft.n > 0 {
		v = blend(l.slowdown, v)
	}
	l.slowdown = v
	if now-l.fadedAt >= fadeEvery {
		l.weight = float64(l.weight * fade(now, &l.fadedAt, slowdownHalf))
	}
	l.weight++
}

// samples is how much the slowdown counts.
func (l *latency) samples(now int64) float64 {
	at := l.fadedAt
	return float64(l.weight * fade(now, &at, slowdownHalf))
}

// success is how many of the latest attempts were served, fading.
type success struct {
	ok, n   float64
	fadedAt int64
}

// add counts an attempt, and whether it was served: 1, or 0.
func (s *success) add(now int64, ok float64) {
	if now-s.fadedAt >= fadeEvery {
		f := fade(now, &s.fadedAt, successHalf)
		s.ok, s.n = float64(s.ok*f), float64(s.n*f)
	}
	s.ok, s.n = s.ok+ok, s.n+1
}

func (s *success) counts(now int64) (ok, n float64) {
	at := s.fadedAt
	f := fade(now, &at, successHalf)
	return float64(s.ok * f), float64(s.n * f)
}

// fade is the part that is left of what last faded at a time. Within a quarter of a second it
// is all, and the time stays.
func fade(now int64, at *int64, half int64) float64 {
	if now-*at < fadeEvery {
		return 1
	}
	f := window.Decay(now-*at, half)
	*at = now
	return f
}

// known is the slowdown; −1: not measured.
func (l *latency) known() float64 {
	if l.ttft.n == 0 {
		return -1
	}
	return l.slowdown
}

// spread is how an endpoint's slowdowns lie, kept where a strategy asks for more than the average.
type spread struct {
	counts   window.Histogram
	n        int64
	mixed    float64
	halvedAt int64
}

func (p *spread) add(now int64, slowdown float64) {
	for now-p.halvedAt >= halveEvery {
		p.counts.Halve()
		if p.counts.Total() == 0 {
			p.halvedAt = now - halveEvery // nothing is left to halve
		}
		p.halvedAt += halveEvery
	}
	p.counts.Add(int64(min(slowdown, mostSlowdown) * oneSlowdown))
	if p.n++; p.n < mixEvery || p.n%mixEvery == 0 {
		p.mixed = p.blend()
	}
}

// blend is 0.7 of the median and 0.3 of the 99th percentile, which takes samples enough.
func (p *spread) blend() float64 {
	half := float64(p.counts.Quantile(500)) / oneSlowdown
	if p.counts.Total() < tailSamples {
		return half
	}
	return float64(0.7*half) + float64(0.3*(float64(p.counts.Quantile(990))/oneSlowdown))
}

// mix is the blend; −1: not measured.
func (p *spread) mix() float64 {
	if p == nil || p.n == 0 {
		return -1
	}
	return p.mixed
}
