package route

import (
	"slices"
	"strings"

	"github.com/pointsman/pointsman/clientlib/route/breaker"
)

// Explanation says where a request would go now, and why.
type Explanation struct {
	Workload   string
	Strategy   Strategy
	Version    CatalogVersion
	Panic      bool // soft trips are ignored
	Tiers      []TierState
	Candidates []Candidate // of every tier, in order
	Err        error       // what Next would fail with
}

// TierState is one tier as this request sees it.
type TierState struct {
	Name     string
	Down     bool
	Eligible float64 // part of its share, 0 to 1
}

// Candidate is one endpoint of the workload.
type Candidate struct {
	Endpoint string
	Tier     string
	Reason   Reason
	ProbeDue bool // it is open, and a call that can spare an attempt would probe it
	Inputs        // with load, time and share whatever the strategy
	Liking
	Score float64 // lower wins; 0 when a gate refuses, and of a strategy without scores
	Evidence
}

// Evidence is how old what is known of an endpoint is, and how much there is.
type Evidence struct {
	RowAge    int64 // µs since the fleet's row was true; Absent: there is none
	SampleAge int64 // µs since the latest latency sample; Absent: there is none
	Samples   int64
}

// EndpointState is one endpoint as this process sees it.
type EndpointState struct {
	Name     string
	Identity uint64
	InFlight int64
	TTFT     int64 // µs; 0: not measured

	Slowdown           float64 // how many times as long as its tokens explain; 0: not measured
	SlowdownSamples    float64 // fading
	Successes, Samples float64 // of attempts that say something of it, fading

	Local string  // this process's breaker, the worst of its classes: closed, half_open, open_soft, open
	Fleet string  // the fleet's word, the worst of its classes: closed, ramp, half_open, open
	Share float64 // its weight, less while it ramps

	Evidence
}

// Explain says what Next would do now, by its very gates and scores. It takes nothing and
// learns nothing.
func (r *Router) Explain(now int64, workload string, q Request) Explanation {
	c := r.Begin(now, workload, q)
	x := Explanation{Workload: workload}
	w, err := r.find(&c)
	if err != nil {
		x.Err = err
		return x
	}
	x.Version, x.Strategy = r.snapshot.Version(), w.compiled.spec.Strategy
	var a ask
	allowed := r.snapshot.static.ask(w.compiled, &c, &a)
	p := r.peek(now, w, &a)
	r.measure(now, w, &c)
	x.Panic = p.panic
	for i := range p.tiers {
		t := &p.tiers[i]
		x.Tiers = append(x.Tiers, TierState{t.name, t.course.down, t.eligible})
		r.explainTier(now, &x, p, i, &c)
	}
	none := !slices.ContainsFunc(x.Candidates, func(c Candidate) bool { return c.Reason == Pass })
	switch {
	case !allowed:
		x.refuse()
		x.Err = r.snapshot.static.forbid(w.compiled)
	case none:
		x.Err = r.explainShed(now, p, &c)
	}
	return x
}

// refuse is the tenant's gate: it answers for all.
func (x *Explanation) refuse() {
	for i := range x.Candidates {
		x.Candidates[i].Reason, x.Candidates[i].Score = ReasonTenant, 0
	}
}

func (r *Router) explainTier(now int64, x *Explanation, p *pool, tier int, c *Call) {
	from, t := len(x.Candidates), &p.tiers[tier]
	for _, l := range p.left {
		if l.tier == t.name {
			place := r.snapshot.static.index[l.endpoint]
			e := r.current[place].evidence(now, r.measured(p.work, place))
			x.Candidates = append(x.Candidates, Candidate{Endpoint: l.endpoint, Tier: t.name, Reason: l.reason, Evidence: e})
		}
	}
	for _, place := range p.members(tier) {
		x.Candidates = append(x.Candidates, r.candidate(now, p, tier, place, c))
	}
	slices.SortFunc(x.Candidates[from:], func(a, b Candidate) int { return strings.Compare(a.Endpoint, b.Endpoint) })
}

func (r *Router) candidate(now int64, p *pool, tier int, place int32, c *Call) Candidate {
	l, strategy := r.current[place], p.work.compiled.spec.Strategy
	v := Candidate{Endpoint: l.name, Tier: p.tiers[tier].name, Reason: r.gate(now, p, place, c), Evidence: l.evidence(now, r.measured(p.work, place))}
	v.ProbeDue = v.Reason == ReasonBreakerOpen && r.probeDue(now, p, l, c)
	if v.Reason == Pass {
		r.inputs(now, p, place, c, 0, &v.Inputs)
		v.Liking = r.liked(now, p, tier, place)
		if strategy.scores() {
			v.Score = strategy.score(&v.Inputs)
		}
	}
	v.Share = r.shareOf(now, p, place)
	if v.Reason != Pass || strategy != Predictive { // it has a load and a time of its own
		v.Load, v.Time = l.load(now), r.expect(now, p, place, c.request.Input)
	}
	return v
}

func (l *learned) evidence(now int64, a *average) Evidence {
	e := Evidence{RowAge: Absent, SampleAge: Absent, Samples: a.n}
	if a.n > 0 {
		e.SampleAge = max(now-a.at, 0)
	}
	if l.word != nil {
		e.RowAge = max(now-l.word.at, 0)
	}
	return e
}

// Endpoints appends the state of every endpoint to buf, by name.
func (r *Router) Endpoints(now int64, buf []EndpointState) []EndpointState {
	r.pass(now)
	for _, l := range r.current {
		r.trips = l.breaker.Trips(r.trips[:0])
		own := "closed"
		if len(r.trips) > 0 {
			own = "open"
			if refuses, soft := l.breaker.Refuses(allClasses); refuses && l.breaker.Until(allClasses) <= now {
				own = "half_open"
			} else if soft {
				own = "open_soft"
			}
		}
		ok, n := l.success.counts(now)
		buf = append(buf, EndpointState{
			Name: l.name, Identity: l.identity, InFlight: l.inFlight, TTFT: int64(l.ttft.value),
			Slowdown: l.slowdown, SlowdownSamples: l.samples(now), Successes: ok, Samples: n,
			Local: own, Fleet: l.fleet(now), Share: float64(float64(r.states.shares[l.place])*l.word.factor(now, allClasses)) / shareUnit,
			Evidence: l.evidence(now, &l.ttft),
		})
	}
	return buf
}

// fleet names the fleet's word, the worst over all classes.
func (l *learned) fleet(now int64) string {
	switch {
	case l.heldBy(allClasses) == 0 && (l.word == nil || l.word.ramping == 0):
		return "closed"
	case l.heldBy(allClasses) == 0:
		return "ramp"
	}
	for c := range breaker.Classes {
		if l.heldBy(1<<c) != 0 && now < l.word.until[c] {
			return "open"
		}
	}
	return "half_open"
}
