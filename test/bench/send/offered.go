package main

import (
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"
)

// sample is one request: how long after it was due it began, its first bytes had come, and
// its last.
type sample struct {
	late, first, total time.Duration
	err                error
}

// offered is the phase of requests that begin when they are due.
func (r *report) offered(base string) error {
	p, err := newPair(base, nil)
	if err != nil {
		return err
	}
	defer p.close()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.NumCPU() + 1)) // the pacer's naps hold one
	n := int(float64(r.options.rate) * r.options.duration.Seconds() / float64(r.options.rounds))
	rounds := map[form][]figures{}
	for i := range r.options.rounds + 2 { // the first of each form only opens connections
		f := form(i % 2)
		found, err := offer(p, f, n, time.Second/time.Duration(r.options.rate))
		if err != nil {
			return err
		}
		if i >= 2 {
			rounds[f] = append(rounds[f], found)
		}
	}
	r.Whole, r.Streamed = middle(rounds[whole]), middle(rounds[streamed])
	return nil
}

// offer has n requests begin every so often, bare and routed in pairs whose order is chance.
func offer(p *pair, f form, n int, every time.Duration) (figures, error) {
	var taken [2][]sample
	for i := range taken {
		taken[i] = make([]sample, n/2)
	}
	var wg sync.WaitGroup
	began := time.Now().Add(20 * time.Millisecond)
	for i := range n / 2 {
		order := rand.IntN(2)
		for k := range 2 {
			due := began.Add(time.Duration(2*i+k) * every)
			which := k ^ order
			nap(time.Until(due))
			wg.Go(func() { taken[which][i] = p.ways[which].timed(f, due) })
		}
	}
	wg.Wait()
	return figuresOf(taken[0], taken[1])
}

// timed sends one request that was due.
func (w *way) timed(f form, due time.Time) sample {
	s := sample{late: time.Since(due)}
	first, err := w.send(f)
	s.total, s.first, s.err = time.Since(due), first.Sub(due), err
	return s
}

// figures are what a round says, in µs. Of streams the time until their first bytes counts:
// what each event adds is a figure of its own.
type figures struct {
	Bare50  float64 `json:"bare_us_p50"`
	Bare99  float64 `json:"bare_us_p99"`
	Added50 float64 `json:"added_us_p50"`
	Added99 float64 `json:"added_us_p99"`
	Ratio50 float64 `json:"ratio_p50"`
	Total50 float64 `json:"added_total_us_p50"` // until the last bytes
	Noise50 float64 `json:"noise_us_p50"`       // bare against bare
	Noise99 float64 `json:"noise_us_p99"`
	Late50  float64 `json:"late_us_p50"` // how late requests began
	Late99  float64 `json:"late_us_p99"`
}

func figuresOf(bare, routed []sample) (figures, error) {
	var errs []error
	for _, s := range slices.Concat(bare, routed) {
		if s.err != nil && len(errs) < 3 {
			errs = append(errs, s.err)
		}
	}
	first := func(s sample) time.Duration { return s.first }
	total := func(s sample) time.Duration { return s.total }
	late := func(s sample) time.Duration { return s.late }
	var halves [2][]sample
	for i, s := range bare {
		halves[i%2] = append(halves[i%2], s)
	}
	added := func(q float64, a, b []sample, took func(sample) time.Duration) float64 {
		return rounded(part(b, q, took) - part(a, q, took))
	}
	f := figures{
		Bare50: part(bare, 0.5, first), Bare99: part(bare, 0.99, first), Late50: part(bare, 0.5, late), Late99: part(bare, 0.99, late),
		Added50: added(0.5, bare, routed, first), Added99: added(0.99, bare, routed, first), Total50: added(0.5, bare, routed, total),
		Noise50: math.Abs(added(0.5, halves[0], halves[1], first)), Noise99: math.Abs(added(0.99, halves[0], halves[1], first)),
	}
	f.Ratio50 = rounded(1 + f.Added50/f.Bare50)
	return f, errors.Join(errs...)
}
