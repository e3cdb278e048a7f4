package dev

import (
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pointsman/pointsman/test/fake"
)

// reaction is what a caller may take from a fault's start, by the fleet's word alone,
// before an attempt at the faulty endpoint counts as late.
const reaction = 1500 * time.Millisecond

// maxTimes bounds the times to first token that quantiles are taken of: the latest.
const maxTimes = 1 << 18

// Result is what a run measured.
type Result struct {
	Requests   int                `json:"requests"`
	Served     int                `json:"served"`
	Shed       int                `json:"shed"`
	Failed     int                `json:"failed"`
	Retried    int                `json:"retried"`
	Share      map[string]float64 `json:"share"`
	TTFT       Quantiles          `json:"ttft_ms"`
	Breaker    []Opening          `json:"breaker"`
	Callers    []CallerResult     `json:"callers"`
	Generation uint64             `json:"generation"`
	Violations int                `json:"violations"`
	Troubles   []string           `json:"-"` // for people: the first things that went wrong
}

// Quantiles are in milliseconds.
type Quantiles struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

// Opening is one time that a breaker opened. Times count from the start of the fault at
// that endpoint, or of the run where there is none.
type Opening struct {
	Endpoint           string `json:"endpoint"`
	By                 string `json:"by"` // fleet, or the caller's name
	OpenedAfterMS      int64  `json:"opened_after_ms"`
	ClosedAfterMS      *int64 `json:"closed_after_ms"` // null: still open at the end
	FailuresBeforeOpen int    `json:"failures_before_open"`
}

// CallerResult counts attempts at faulty endpoints during a fault, without probes; Late
// are the first attempts among them that the fleet's word should have kept away.
type CallerResult struct {
	Name string `json:"name"`
	Hits int    `json:"hits"`
	Late int    `json:"late"`
}

// try is one attempt, as a caller's library tells of it.
type try struct {
	caller, endpoint string
	number           int // from 1
	probe            bool
	start            time.Time
	ttft             time.Duration // 0: none
	failed           bool
}

// tally counts what callers do. It is safe for concurrent use.
type tally struct {
	ttftLimit time.Duration // the example catalog's
	faults    map[string][]fake.Fault

	mu       sync.Mutex
	begin    time.Time
	result   Result
	tries    map[string]int
	failures map[string]int // during a fault, by endpoint
	ttft     []float64
	callers  map[string]*CallerResult
	open     map[string]int // endpoint and by → index in result.Breaker
	recent   []try          // of the last seconds, for the live table
}

func newTally(faults map[string][]fake.Fault, ttftLimit time.Duration) *tally {
	return &tally{ttftLimit: ttftLimit, faults: faults, result: Result{Breaker: []Opening{}}, tries: map[string]int{},
		failures: map[string]int{}, callers: map[string]*CallerResult{}, open: map[string]int{}}
}

// join makes a caller's attempts count.
func (t *tally) join(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.callers[name] = &CallerResult{Name: name}
}

// start begins the timeline of the faults.
func (t *tally) start(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begin = at
}

// trouble keeps what went wrong, for people: the first few are enough.
func (t *tally) trouble(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.result.Troubles) < 10 {
		t.result.Troubles = append(t.result.Troubles, text)
	}
}

// fault is the one at an endpoint at a time, if any.
func (t *tally) fault(endpoint string, at time.Time) (fake.Fault, bool) {
	since := at.Sub(t.begin)
	for _, f := range t.faults[endpoint] {
		if f.Active(since) {
			return f, true
		}
	}
	return fake.Fault{}, false
}

func (t *tally) attempt(a try) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tries[a.endpoint]++
	if a.number == 2 {
		t.result.Retried++
	}
	if a.ttft > 0 {
		if len(t.ttft) == maxTimes {
			t.ttft = append(t.ttft[:0], t.ttft[maxTimes/2:]...)
		}
		t.ttft = append(t.ttft, ms(a.ttft))
	}
	t.remember(a)
	f, faulty := t.fault(a.endpoint, a.start)
	if !faulty {
		return
	}
	if a.failed {
		t.failures[a.endpoint]++
	}
	if a.probe {
		return
	}
	c := t.callers[a.caller]
	c.Hits++
	if a.number == 1 && a.start.Sub(t.begin) > f.From+t.grace(f) {
		c.Late++
	}
}

// remember keeps what the live table looks at.
func (t *tally) remember(a try) {
	t.recent = append(t.recent, a)
	if old := len(t.recent) - 2*tableTries; old > 0 {
		t.recent = append(t.recent[:0], t.recent[len(t.recent)-tableTries:]...)
	}
}

// grace is how long a fault of this kind may take to show and to be told to all.
func (t *tally) grace(f fake.Fault) time.Duration {
	if f.Kind == fake.Hang || f.Kind == fake.Slow {
		return reaction + t.ttftLimit
	}
	return reaction
}

// request counts one call as its caller saw it end.
func (t *tally) request(end ending) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch end {
	case served:
		t.result.Served++
	case shed:
		t.result.Shed++
	case failed:
		t.result.Failed++
	case stopped:
		return
	}
	t.result.Requests++
}

// opened and closed follow the breakers' words.
func (t *tally) opened(endpoint, by string, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := endpoint + " " + by
	if _, standing := t.open[key]; standing {
		return
	}
	t.open[key] = len(t.result.Breaker)
	t.result.Breaker = append(t.result.Breaker, Opening{Endpoint: endpoint, By: by,
		OpenedAfterMS: t.sinceFault(endpoint, at), FailuresBeforeOpen: t.failures[endpoint]})
}

func (t *tally) closed(endpoint, by string, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := endpoint + " " + by
	if i, standing := t.open[key]; standing {
		after := t.sinceFault(endpoint, at)
		t.result.Breaker[i].ClosedAfterMS = &after
		delete(t.open, key)
	}
}

// sinceFault is in milliseconds, from the start of the last fault that began before at.
func (t *tally) sinceFault(endpoint string, at time.Time) int64 {
	from := time.Duration(0)
	for _, f := range t.faults[endpoint] {
		if f.From <= at.Sub(t.begin) {
			from = max(from, f.From)
		}
	}
	return (at.Sub(t.begin) - from).Milliseconds()
}

// finish gives the result; nothing is counted after it.
func (t *tally) finish(generation uint64, violations int) Result {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.result
	r.Generation, r.Violations, r.Share = generation, violations, map[string]float64{}
	total := 0
	for _, n := range t.tries {
		total += n
	}
	for endpoint, n := range t.tries {
		r.Share[endpoint] = math.Round(1000*float64(n)/float64(total)) / 1000
	}
	r.TTFT = quantiles(t.ttft)
	for _, c := range t.callers {
		r.Callers = append(r.Callers, *c)
	}
	slices.SortFunc(r.Callers, func(a, b CallerResult) int { return strings.Compare(a.Name, b.Name) })
	return r
}

func quantiles(values []float64) Quantiles {
	if len(values) == 0 {
		return Quantiles{}
	}
	slices.Sort(values)
	at := func(q float64) float64 {
		i := int(math.Ceil(q*float64(len(values)))) - 1
		return math.Round(10*values[max(0, i)]) / 10
	}
	return Quantiles{at(0.50), at(0.95), at(0.99)}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
