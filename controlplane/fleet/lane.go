package fleet

import (
	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/route/window"
)

// track is what a class is judged by.
type track uint8

const (
	admits    track = iota // first tokens, and failures before them
	finishes               // ends, and failures after the first token
	paces                  // first tokens in time, and above ttft_limit
	throttles              // first tokens, and 429s: no failures, unless nothing else comes
	tracks
)

// span is how far back evidence is looked at. The fleet has samples enough to see within a
// second that an endpoint went dark, while the fast window is still full of what was well.
type span uint8

const (
	sudden span = iota
	fast
	slow
	spans
)

const (
	suddenPart  = 5      // of the fast window,
	suddenLeast = second // but long enough for reports of what is well, which come each second
)

// lane is one class of a witness's evidence: what went well and what failed, and of the
// admits those that were slow, and those that were limited, which few ever have.
type lane struct {
	admits, finishes windows
	slow, limited    *windows
	failing          [tracks]bool // in any span, when last looked at
}

type windows [spans]window.Window

// when is when a row's evidence happened. A failure is told at once: it is as old as the
// report. What went well lies anywhere in the interval.
type when struct{ bad, ok int64 }

func whenOf(r *route.Report) when { return when{r.At, r.At - r.Interval/2} }

func newWindows(p *breaker.Policy) windows {
	return windows{window.New(max(p.Window/suddenPart, suddenLeast)), window.New(p.Window), window.New(p.SlowWindow)}
}

func (w *windows) add(at when, ok, bad uint64) {
	for i := range w {
		if ok > 0 {
			w[i].Add(at.ok, clip(ok), 0)
		}
		if bad > 0 {
			w[i].Add(at.bad, 0, clip(bad))
		}
	}
}

func (w *windows) subtract(part *windows) {
	if w == nil || part == nil {
		return
	}
	for i := range w {
		w[i].Subtract(&part[i])
	}
}

// add counts a row.
func (l *lane) add(at when, r *route.Row, p *breaker.Policy) {
	l.admits.add(at, r.Admitted, r.AdmitFailed)
	l.finishes.add(at, r.Finished, r.FinishFailed)
	addBad(&l.slow, at, r.Slow, p)
	addBad(&l.limited, at, r.Limited, p)
}

// addBad counts what only has a bad side, from the first one on.
func addBad(w **windows, at when, bad uint64, p *breaker.Policy) {
	if bad == 0 {
		return
	}
	if *w == nil {
		n := newWindows(p)
		*w = &n
	}
	(*w).add(at, 0, bad)
}

func (l *lane) subtract(part *lane) {
	l.admits.subtract(&part.admits)
	l.finishes.subtract(&part.finishes)
	l.slow.subtract(part.slow)
	l.limited.subtract(part.limited)
}

// counts is what one track has in one span: well, badly.
func (l *lane) counts(now int64, t track, s span) (ok, bad int64) {
	switch {
	case t == finishes:
		return l.finishes[s].Counts(now)
	case t == admits:
		return l.admits[s].Counts(now)
	case t == paces && l.slow != nil:
		_, bad = l.slow[s].Counts(now)
	case t == throttles && l.limited != nil:
		_, bad = l.limited[s].Counts(now)
	}
	ok, _ = l.admits[s].Counts(now)
	if t == paces {
		ok = max(ok-bad, 0)
	}
	return ok, bad
}

func clip(n uint64) uint32 { return uint32(min(n, mostRows)) }
