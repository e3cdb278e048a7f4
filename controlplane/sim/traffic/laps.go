package traffic

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// laps is the rows of a trace's window, once or again and again. Their times count from the
// window's beginning.
type laps struct {
	trace  *Trace
	chance stream
	file   *parsed
	in     rows
	lap    uint64 // from 0
	base   int64  // µs, when this lap began
	window span
	end    error // of all
}

// span is what was seen of a window. Times are µs since the trace's first row.
type span struct {
	count       int64
	first, last int64
}

func openLaps(t *Trace, chance stream) (*laps, error) {
	l := &laps{trace: t, chance: chance}
	return l, l.open()
}

func (l *laps) open() (err error) {
	if l.file, err = openRows(l.trace); err != nil {
		return err
	}
	l.in, l.window = l.file, span{}
	if tick := l.trace.tick(); tick > 0 {
		t := &ticks{in: l.file, length: tick, chance: l.chance}
		l.in, l.chance = t, stream{l.chance.next()}
	}
	return nil
}

func (l *laps) next(r *row) error {
	for l.end == nil {
		err := l.in.next(r)
		if err != nil && !errors.Is(err, io.EOF) {
			return l.stop(err)
		}
		w := &l.trace.Window
		at := r.at - l.file.first
		if errors.Is(err, io.EOF) || w.Until > 0 && at >= w.Until {
			length := w.Until - w.From
			if err != nil { // until a next row would have come
				length = l.window.last + l.window.gap() - w.From
			}
			if err := l.turn(length); err != nil {
				return l.stop(err)
			}
			continue
		}
		if at < w.From {
			continue
		}
		l.window.add(at)
		r.at = l.base + at - w.From
		return nil
	}
	return l.end
}

// turn begins the next lap after one of some length, or says why there is none.
func (l *laps) turn(length int64) error {
	if l.window.count == 0 {
		w, all := &l.trace.Window, l.file.last-l.file.first
		return fmt.Errorf("%s: no rows from %v until %v: it has %v", l.trace.Path, duration(w.From), duration(w.Until), duration(all))
	}
	l.base += length
	if !l.trace.Window.Loop {
		return io.EOF
	}
	l.lap++
	l.file.shut()
	return l.open()
}

func (l *laps) stop(err error) error {
	l.end = err
	if l.file != nil {
		l.file.shut()
	}
	return err
}

// Close is for those who leave before the end.
func (l *laps) Close() error {
	if l.end == nil {
		_ = l.stop(io.EOF)
	}
	return nil
}

func (s *span) add(at int64) {
	if s.count == 0 {
		s.first = at
	}
	s.last = at
	s.count++
}

// gap is the mean time between rows; of a single time: a second.
func (s *span) gap() int64 {
	if s.last == s.first {
		return 1_000_000
	}
	return max(1, (s.last-s.first)/(s.count-1))
}

func duration(us int64) time.Duration { return time.Duration(us) * time.Microsecond }
