package traffic

import (
	"errors"
	"io"
	"math"
)

// Stats is what a source has in the mean.
type Stats struct {
	Count         int64   // of a trace's window; 0: generated, without end
	Span          int64   // µs, of the window; 0: without end
	Input, Output float64 // tokens, means
	rate          float64
}

// Rate is in requests a second.
func (s Stats) Rate() float64 { return s.rate }

// Stats reads the window once, at its own speed, and plays nothing. To have a rate, make
// Window.Speed that rate ÷ Stats.Rate().
func (t *Trace) Stats() (Stats, error) {
	if err := t.Check(); err != nil {
		return Stats{}, err
	}
	once := *t
	once.Window.Loop = false
	l, err := openLaps(&once, drawn(0, t.Name, forTicks))
	if err != nil {
		return Stats{}, err
	}
	var s Stats
	for r := (row{}); ; {
		if err := l.next(&r); errors.Is(err, io.EOF) {
			return s.over(l.base), nil
		} else if err != nil {
			return Stats{}, err
		}
		s.add(r.input, capped(r.output, t.Labels.MaxOutput))
	}
}

func (s *Stats) add(input, output int64) {
	s.Count++
	s.Input += float64(input)
	s.Output += float64(output)
}

// over makes means of sums.
func (s Stats) over(span int64) Stats {
	s.Span = span
	s.Input /= float64(s.Count)
	s.Output /= float64(s.Count)
	s.rate = float64(s.Count) * 1e6 / float64(span)
	return s
}

// sampled is of how many requests the means are where sessions make them long.
const sampled = 100_000

// Stats is what it has in the mean: exactly, except with sessions, whose mean is of many drawn
// ones.
func (g *Generator) Stats() (Stats, error) {
	if err := g.Check(); err != nil {
		return Stats{}, err
	}
	switch {
	case g.Bodies != nil:
		bodies := *g.Bodies
		bodies.Labels.MaxOutput = g.Labels.MaxOutput
		s, err := bodies.Stats()
		return Stats{Input: s.Input, Output: s.Output, rate: g.Rate}, err
	case g.Sessions.Turns > 0:
		return g.sample()
	}
	input := g.Input.mean(LengthMax)
	if g.Keys.Count > 0 {
		input += float64(g.Keys.Tokens)
	}
	return Stats{Input: input, Output: g.Output.mean(capped(LengthMax, g.Labels.MaxOutput)), rate: g.Rate}, nil
}

func (g *Generator) sample() (Stats, error) {
	endless := *g
	endless.Until = 0
	src, err := endless.Open(0)
	if err != nil {
		return Stats{}, err
	}
	var s Stats
	for a := (Arrival{}); s.Count < sampled; {
		if _, err := src.Next(&a); err != nil {
			return Stats{}, err
		}
		s.add(a.Input, a.Output)
	}
	s = s.over(1)
	return Stats{Input: s.Input, Output: s.Output, rate: g.Rate}, nil
}

// mean of a log-normal distribution, of which what is longer counts as so long.
func (l *Length) mean(most int64) float64 {
	top := float64(min(most, l.max()))
	if l.Sigma == 0 {
		return min(l.Median, top)
	}
	mu, d := math.Log(l.Median), math.Log(top)
	below := normal((d - mu - l.Sigma*l.Sigma) / l.Sigma)
	return l.Median*math.Exp(l.Sigma*l.Sigma/2)*below + top*normal((mu-d)/l.Sigma)
}

// normal is the part of a normal distribution that lies below x.
func normal(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
