package route

import (
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/route/money"
	"github.com/pointsman/pointsman/clientlib/route/window"
)

const (
	combinations = 1 << (breaker.Classes - 1) // of classes: Any is in all
	markBits     = 9                          // of a mark below its combination
	maxMarks     = 108                        // a tally fills seven cache lines
)

// tally counts one endpoint's attempts for one workload since the last report. While one
// is in flight it is in the router's list.
type tally struct {
	latency       // outlives reports
	work    *work // of the last attempt
	dirty   bool
	used    uint8 // marks
	worked  int64 // µs that the tokens of what was finished take at speed 1,
	busy    int64 // and that they took
	waits
	cost  [combinations]money.Nano
	marks [maxMarks]mark
	owner *learned
	cells [combinations]*cell // nil: nothing was counted
}

// waits are how long first tokens took, or what stands for them, and how long their inputs
// explain: µs.
type waits struct{ waited, explained int64 }

// mark is a result that is in no cell yet, and the attempt's combination of classes above it:
// cells are large, and many.
type mark uint16

// The results: below them all, that an attempt was admitted, as the bucket of its time to first
// token; that it was late; and one more when it ends.
const (
	slow mark = window.Buckets + iota
	admitFailed
	finished
	finishFailed
	limited
	excluded
	invalid
	results = iota
)

// cell counts the attempts of one combination of classes. A report adds up those that have
// a class.
type cell struct {
	times  window.Histogram // of the admitted
	counts [results]uint64
	gauges
}

// gauges are of what is in flight when a report is made.
type gauges struct{ inFlight, pending, tokens int64 }

func (l *learned) tally(workload string) *tally {
	t := l.tallies[workload]
	if t == nil {
		t = &tally{owner: l}
		l.tallies[workload] = t
	}
	return t
}

// outdated tells whether an attempt is no evidence: it was picked before the fleet's latest
// ramp, and the leader could only tell it apart by dropping the interval.
func (s *slot) outdated() bool { return s.learned.breaker.Outdated(s.classes, s.round) }

// mark notes a result.
func (r *Router) mark(s *slot, result mark) {
	t := s.tally
	if t.used == maxMarks {
		r.sort(t)
	}
	r.soil(t)
	t.marks[t.used] = mark(s.combination())<<markBits | result
	t.used++
}

func (s *slot) combination() int { return int(s.classes >> 1) }

// sort counts what was marked.
func (r *Router) sort(t *tally) {
	for _, m := range t.marks[:t.used] {
		c, result := r.cell(t, int(m>>markBits)), m&(1<<markBits-1)
		if result < slow {
			c.times.Put(uint32(result), 1)
		} else {
			c.counts[result-slow]++
		}
	}
	t.used = 0
}

// cell is one of a tally, made when it is needed; those that were reported are used again.
func (r *Router) cell(t *tally, k int) *cell {
	if t.cells[k] == nil {
		if len(r.cells) == 0 {
			r.cells = append(r.cells, &cell{})
		}
		last := len(r.cells) - 1
		t.cells[k], r.cells = r.cells[last], r.cells[:last]
	}
	return t.cells[k]
}
