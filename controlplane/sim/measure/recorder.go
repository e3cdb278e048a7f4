package measure

import (
	"maps"
	"slices"

	"github.com/pointsman/pointsman/clientlib/route/money"
)

// Plan is what a recorder is made for. Times are µs.
type Plan struct {
	Policy           string
	Seed             uint64
	Warmup, Duration int64
	Bins             int      // 0: DefaultBins
	Endpoints        []string // sorted
}

// DefaultBins is how many parts the duration of a run has.
const DefaultBins = 60

const tailBins = 2 // as many times the bins of the duration: what comes later is in the last one

// Call is one call that has ended.
type Call struct {
	At, Sent, First, End int64 // its scheduled arrival, its last attempt's sending (0: none), first token (0: none), end
	Asker
	Ending
	Tokens
	Attempts int
	Alone    int64 // µs to its first token at the fastest endpoint that may serve it, with nobody else there; 0: not known
}

// Asker is who asked for what.
type Asker struct{ Workload, Tenant string } // tenant as declared; empty: default

// Ending is what became of a call.
type Ending struct {
	Served  bool
	Late    bool   // its deadline passed, or its caller left, before it was served
	Shed    string // the kind; empty: it was not
	Failure string // the outcome's kind; empty: it was served, shed or late
	Wrong   bool   // delivered, and invalid
}

// Attempt is one attempt that has ended.
type Attempt struct {
	At, First, End int64 // sent, first token (0: none), end
	Place          int   // of Plan's endpoints
	Asker
	Tokens
	Served    bool
	Outcome   string // its kind
	Cost      money.Nano
	Invalid   bool
	Violation bool
}

// Recorder gathers a run's result.
type Recorder struct {
	plan      Plan
	parts     map[Asker]*Measures // what is told of all, of workloads and of tenants, counted once
	last      *Measures           // the last one asked for
	lastOf    Asker
	endpoints []Measures
	bins      []bin
	width     int64 // µs of a bin
	turns     []Turn
}

type bin struct {
	Bin
	ttft Times
}

// New is an empty recorder.
func New(p Plan) *Recorder {
	if p.Bins <= 0 {
		p.Bins = DefaultBins
	}
	r := &Recorder{
		plan: p, parts: map[Asker]*Measures{},
		endpoints: make([]Measures, len(p.Endpoints)),
		width:     max((p.Duration+int64(p.Bins)-1)/int64(p.Bins), 1),
	}
	for i := range r.endpoints {
		r.endpoints[i].begin()
	}
	r.grow(p.Bins - 1)
	return r
}

func (m *Measures) begin() { m.Sheds, m.Failures = map[string]int64{}, map[string]int64{} }

// Call counts a call.
func (r *Recorder) Call(c *Call) {
	b := r.bin(c.At)
	b.Calls++
	switch {
	case c.Served:
		b.Served++
		b.ttft.Add(c.First - c.At)
	case !c.Late:
		b.Failed++
	}
	if c.At < r.plan.Warmup {
		return
	}
	r.part(&c.Asker).call(c)
}

func (m *Measures) call(c *Call) {
	m.Calls++
	m.Retries += int64(max(c.Attempts-1, 0))
	if c.Wrong {
		m.Wrong++
	}
	switch {
	case c.Served:
		m.served(c)
	case c.Late:
		m.Late++
	case c.Shed != "":
		m.Sheds[c.Shed]++
	default:
		m.Failures[c.Failure]++
	}
}

func (m *Measures) served(c *Call) {
	m.Served++
	m.add(c.Tokens)
	m.Alone += c.Alone
	m.TTFT.Add(c.First - c.At)
	m.Total.Add(c.End - c.At)
	m.Queue.Add(c.Sent - c.At)
	m.pace(c.First, c.End, c.Output)
}

// pace is only known of an answer that has more than one token.
func (m *Measures) pace(first, end, output int64) {
	if output > 1 && end > first {
		m.Each.Add((end - first) / (output - 1))
	}
}

// Attempt counts an attempt.
func (r *Recorder) Attempt(a *Attempt) {
	r.bin(a.At).Attempts[a.Place]++
	early := a.At < r.plan.Warmup
	if early && !a.Violation {
		return
	}
	for _, m := range [...]*Measures{r.part(&a.Asker), &r.endpoints[a.Place]} {
		if a.Violation {
			m.Violations++
		}
		if !early {
			m.charge(a)
		}
	}
	if !early {
		r.endpoints[a.Place].attempt(a)
	}
}

// charge is what of an attempt counts for its call too.
func (m *Measures) charge(a *Attempt) {
	m.Cost += a.Cost
	if a.Invalid {
		m.Invalid++
	}
}

func (m *Measures) attempt(a *Attempt) {
	m.Calls++
	if !a.Served {
		m.Failures[a.Outcome]++
		return
	}
	m.Served++
	m.add(a.Tokens)
	m.TTFT.Add(a.First - a.At)
	m.Total.Add(a.End - a.At)
	m.pace(a.First, a.End, a.Output)
}

// Turn notes a change of a breaker.
func (r *Recorder) Turn(t Turn) { r.turns = append(r.turns, t) }

// Result is what was gathered. Nothing may be counted after it.
func (r *Recorder) Result() *Result {
	out := &Result{Policy: r.plan.Policy, Seed: r.plan.Seed, Warmup: r.plan.Warmup, Duration: r.plan.Duration, Turns: r.turns}
	out.All.begin()
	workloads, tenants := map[string]*Measures{}, map[string]*Measures{}
	for of, m := range r.parts { // in any order: all of it is whole numbers
		out.All.merge(m)
		part(workloads, of.Workload).merge(m)
		part(tenants, tenant(of.Tenant)).merge(m)
	}
	out.By.Workloads, out.By.Tenants = named(workloads), named(tenants)
	for i, name := range r.plan.Endpoints {
		out.By.Endpoints = append(out.By.Endpoints, Named{name, r.endpoints[i]})
	}
	for i := range r.bins {
		b := &r.bins[i]
		b.P99 = int64(b.ttft.Quantile(0.99))
		out.Bins = append(out.Bins, b.Bin)
	}
	return out
}

// Thin gives up what of a result is not asked for when it is kept with many: of the times of
// endpoints only a hundred quantiles stay.
func (r *Result) Thin() {
	for i := range r.By.Endpoints {
		m := &r.By.Endpoints[i].Measures
		for _, t := range [...]*Times{&m.TTFT, &m.Total, &m.Queue, &m.Each} {
			t.thin()
		}
	}
}

func named(parts map[string]*Measures) (all []Named) {
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		all = append(all, Named{name, *parts[name]})
	}
	return all
}

// part is what is counted of one asker's.
func (r *Recorder) part(of *Asker) *Measures {
	if r.last != nil && *of == r.lastOf {
		return r.last
	}
	m := r.parts[*of]
	if m == nil {
		m = &Measures{}
		m.begin()
		r.parts[*of] = m
	}
	r.last, r.lastOf = m, *of
	return m
}

// merge adds all of another.
func (m *Measures) merge(o *Measures) {
	m.Counts.merge(&o.Counts)
	m.add(o.Tokens)
	m.Alone, m.Cost = m.Alone+o.Alone, m.Cost+o.Cost
	m.TTFT.Merge(&o.TTFT)
	m.Total.Merge(&o.Total)
	m.Queue.Merge(&o.Queue)
	m.Each.Merge(&o.Each)
}

func (c *Counts) merge(o *Counts) {
	c.Calls, c.Served, c.Late, c.Retries = c.Calls+o.Calls, c.Served+o.Served, c.Late+o.Late, c.Retries+o.Retries
	c.Invalid, c.Wrong, c.Violations = c.Invalid+o.Invalid, c.Wrong+o.Wrong, c.Violations+o.Violations
	for kind, n := range o.Sheds {
		c.Sheds[kind] += n
	}
	for kind, n := range o.Failures {
		c.Failures[kind] += n
	}
}

func part(parts map[string]*Measures, name string) *Measures {
	m := parts[name]
	if m == nil {
		m = &Measures{}
		m.begin()
		parts[name] = m
	}
	return m
}

func tenant(name string) string {
	if name == "" {
		return "default"
	}
	return name
}

func (r *Recorder) bin(at int64) *bin {
	i := min(int(max(at, 0)/r.width), r.plan.Bins*(1+tailBins)-1)
	r.grow(i)
	return &r.bins[i]
}

func (r *Recorder) grow(last int) {
	for len(r.bins) <= last {
		b := bin{Bin: Bin{From: int64(len(r.bins)) * r.width, Attempts: make([]int64, len(r.plan.Endpoints))}}
		r.bins = append(r.bins, b)
	}
}
