package route_test

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
)

// next takes a call's next step and holds it against the model and, every other time,
// against what Explain said just before.
func (d *drill) next(c *asking) {
	if c.last != nil && !c.last.over && !d.dice.rarely(8) {
		d.settle(c.last) // so that it may go on
		return
	}
	if c.call == nil || d.dice.rarely(3) && (c.last == nil || c.last.over) {
		*c = asking{from: nowhere, workload: fmt.Sprint("w", d.dice.n(worldWorkloads)), request: randomRequest(&d.dice, d.now), began: d.now}
		call := d.router.Begin(d.now, c.workload, c.request)
		c.call = &call
	}
	c.ended(d.model.workload(c.workload))
	var before *route.Explanation
	if d.dice.rarely(2) {
		x := d.router.Explain(d.now, c.workload, c.request)
		d.explained(c, &x)
		before = &x
	}
	open := c.last != nil && !c.last.over
	step := d.router.Next(d.now, d.dice.seed, c.call)
	switch step.Kind {
	case route.Send:
		if open {
			d.Fatal("a second attempt while the first is in flight")
		}
		d.sent(c, &step, before)
	case route.Fail:
		d.failed(c, &step, before)
	case route.Wait:
		if step.Until <= d.now || c.sent == 0 {
			d.Fatalf("waits until %d after %d attempts", step.Until, c.sent)
		}
	}
}

// ended notes what follows from how the last attempt ended: that it may be repeated, or that
// what was too long for a window needs a larger one.
func (c *asking) ended(w *route.Workload) {
	if c.last == nil || !c.last.over {
		return
	}
	c.last.again = c.last.again || w.Attempts.SameEndpoint > 0
	if c.last.outcome.Kind == route.TooLong && c.larger == 0 {
		c.larger = c.last.window + 1
	}
	if c.last.outcome.Kind == route.Invalid && w.EscalateQuality && c.from == nowhere {
		c.from = tierOf(w, c.last.at.name)
	}
}

const nowhere = -1

func tierOf(w *route.Workload, name string) int {
	return slices.IndexFunc(w.Tiers, func(t route.Tier) bool { return slices.Contains(t.Endpoints, name) })
}

// escalated calls have left endpoints behind that nothing keeps others from.
func (c *asking) escalated() bool { return c.from != nowhere }

// excluded tells whether the call must not, or may not, go back to an endpoint.
func (c *asking) excluded(k identity) (must, may bool) {
	if !slices.Contains(c.tried, k) {
		return false, false
	}
	return c.last.at != k || !c.last.again, true
}

func (d *drill) sent(c *asking, step *route.Step, before *route.Explanation) {
	e, w := step.Endpoint, d.model.workload(c.workload)
	k := identity{e.Name, e.Identity}
	if _, allowed := d.model.tenant(w, &c.request); !allowed || w.Unusable != "" {
		d.Fatalf("%s was sent to %s, which its tenant may not", c.workload, e.Name)
	}
	against := d.model.gates(d.now, w, &c.request, d.model.find(e.Name), c.larger).must
	if step.Probe && d.model.forced(d.now, e) != route.ForcedOpen {
		against &^= reason(route.ReasonBreakerOpen)
	}
	if against != 0 || d.model.share(d.now, e) == 0 {
		d.Fatalf("%s of %s was picked for %+v at %d though %v, share %g", e.Name, c.workload, c.request, d.now, against, d.model.share(d.now, e))
	}
	if at := tierOf(w, e.Name); c.escalated() && (at < c.from || at == c.from && w.Strategy != route.CostTiered) {
		d.Fatalf("%s of tier %d was picked after an escalation from tier %d", e.Name, at, c.from)
	}
	if !step.Probe && !c.escalated() && !(c.last != nil && c.last.at == k) && d.smaller(w, &c.request, e) {
		if better := d.suited(c, w); better != "" {
			d.Fatalf("%s of model %q was picked for %d tokens, and %s is for them", e.Name, e.Model, c.request.Input, better)
		}
	}
	if must, _ := c.excluded(k); must {
		d.Fatalf("%s was tried before", e.Name)
	}
	if v := explainedAs(before, e.Name); before != nil && v != route.Pass && !(step.Probe && v == route.ReasonBreakerOpen) && c.larger == 0 {
		d.Fatalf("%s was picked, and explained as %v", e.Name, v)
	}
	c.sent++
	if c.sent > w.Attempts.Max || c.request.Attempts > 0 && c.sent > c.request.Attempts {
		d.Fatalf("attempt %d", c.sent)
	}
	d.take(c, step, w)
}

// smaller tells whether a request is above all bands of an endpoint, however long its answer.
func (d *drill) smaller(w *route.Workload, q *route.Request, e *route.Endpoint) bool {
	return w.Strategy == route.CostTiered && !d.chooses && !slices.ContainsFunc(w.Bands, func(b route.Band) bool {
		return slices.Contains(b.Models, e.Model) && (b.UptoTokens == route.Absent || q.Input <= b.UptoTokens)
	})
}

// suited is an endpoint that could serve a call, of a band for it; empty: there is none for sure.
func (d *drill) suited(c *asking, w *route.Workload) string {
	for _, b := range w.Bands {
		if b.UptoTokens != route.Absent {
			continue
		}
		for _, t := range w.Tiers {
			for _, name := range t.Endpoints {
				e := d.model.find(name)
				_, tried := c.excluded(identity{e.Name, e.Identity})
				if slices.Contains(b.Models, e.Model) && !tried && d.model.share(d.now, e) > 0 && d.model.gates(d.now, w, &c.request, e, c.larger).may == 0 {
					return name
				}
			}
		}
	}
	return ""
}

func (d *drill) take(c *asking, step *route.Step, w *route.Workload) {
	lost := c.began + w.Attempts.Total
	if c.request.Deadline > 0 {
		lost = min(lost, c.request.Deadline)
	}
	k := identity{step.Endpoint.Name, step.Endpoint.Identity}
	t, _ := d.model.tenant(w, &c.request)
	c.last = &told{sentAt: d.now, tenant: t.Name, quotas: step.Endpoint.Quotas, attempt: step.Attempt, at: k, window: step.Endpoint.ContextWindow, lostAt: lost + 30*sec, probe: step.Probe}
	c.tried = append(c.tried, k)
	d.flights = append(d.flights, c.last)
	d.model.fates[k].inFlight++
	d.model.inFlight[t.Name]++
	d.checked++
	for _, q := range step.Endpoint.Quotas {
		d.rated(q, d.model.limit(q), func(f *told) bool { return slices.Contains(f.quotas, q) })
	}
	if t.Name != "" {
		d.rated(t.Name, route.Quota{Requests: t.Caps.Requests}, func(f *told) bool { return f.tenant == t.Name })
	}
}

// rated: whatever stretch of time one looks at, no more requests went out in it than its
// part of the limit, the burst, and the one that may always go; of a window that resets,
// than its edges allow. A twentieth more may be kept for the lowest priority.
func (d *drill) rated(name string, q route.Quota, counts func(*told) bool) {
	if q.Requests <= 0 {
		return
	}
	n := 0.0
	for i := len(d.flights) - 1; i >= 0; i-- {
		f := d.flights[i]
		if !counts(f) || f.over && (f.outcome.Kind == route.Unsent || f.outcome.Kind == route.Abandoned) {
			continue
		}
		n++
		minutes := float64(d.now-f.sentAt) / (60 * sec)
		most := (minutes + 0.05) * float64(q.Requests)
		if q.Fixed {
			most = math.Ceil(minutes+1) * float64(q.Requests)
		}
		if n > most*1.05+4 {
			d.Fatalf("%s: %g requests in %g minutes, want at most %g", name, n, minutes, most)
		}
	}
}

// explainedAs is the reason that Explain gave for an endpoint, of all tiers the best.
func explainedAs(x *route.Explanation, name string) (r route.Reason) {
	if x == nil {
		return route.Pass
	}
	r = route.Reasons
	for _, v := range x.Candidates {
		if v.Endpoint == name && (r != route.Pass) {
			r = v.Reason
		}
	}
	return r
}

// failed: a call is shed if, and only if, nothing is left for it.
func (d *drill) failed(c *asking, step *route.Step, before *route.Explanation) {
	var shed *route.ShedError
	var end *route.EndError
	if errors.As(step.Err, &end) {
		shed = end.Shed
	} else {
		errors.As(step.Err, &shed)
	}
	if shed == nil {
		return // not for want of an endpoint
	}
	w := d.model.workload(c.workload)
	if c.escalated() {
		return
	}
	_, allowed := d.model.tenant(w, &c.request)
	if (shed.Kind == route.ShedTenant) == allowed {
		d.Fatalf("allowed %v: %v", allowed, shed)
	}
	if !allowed {
		return
	}
	d.checked++
	for _, t := range w.Tiers {
		for _, name := range t.Endpoints {
			e := d.model.find(name)
			_, tried := c.excluded(identity{e.Name, e.Identity})
			if d.model.gates(d.now, w, &c.request, e, c.larger).may == 0 && d.model.share(d.now, e) > 0 && !tried {
				d.Fatalf("%s could serve %+v at %d, and %v", name, c.request, d.now, shed)
			}
			if v := explainedAs(before, name); before != nil && v == route.Pass && d.model.share(d.now, e) > 0 && !tried && c.larger == 0 {
				d.Fatalf("%s is explained as eligible, and %v", name, shed)
			}
		}
	}
}

// explained holds every reason that Explain gives against the model.
func (d *drill) explained(c *asking, x *route.Explanation) {
	w := d.model.workload(c.workload)
	if w == nil || w.Unusable != "" {
		if x.Err == nil {
			d.Fatalf("%s is explained as usable", c.workload)
		}
		return
	}
	_, allowed := d.model.tenant(w, &c.request)
	named, eligible := 0, false
	for _, t := range w.Tiers {
		named += len(t.Endpoints)
	}
	for _, v := range x.Candidates {
		a := d.model.gates(d.now, w, &c.request, d.model.find(v.Endpoint), 0)
		if !allowed {
			a = ruling{reason(route.ReasonTenant), reason(route.ReasonTenant)}
		}
		if v.Reason == route.Pass && a.must != 0 || v.Reason != route.Pass && a.may&reason(v.Reason) == 0 {
			d.Fatalf("%s at %s for %+v at %d: %v, want one of %v, or pass: %v", c.workload, v.Endpoint, c.request, d.now, v.Reason, a.may, a.must == 0)
		}
		if math.IsNaN(v.Score) || math.IsInf(v.Score, 0) || v.Score < 0 {
			d.Fatalf("%s at %s by %v: score %g of %+v", c.workload, v.Endpoint, x.Strategy, v.Score, v.Inputs)
		}
		eligible = eligible || v.Reason == route.Pass
	}
	if named != len(x.Candidates) || eligible != (x.Err == nil) {
		d.Fatalf("%d of %d endpoints, eligible %v: %v", len(x.Candidates), named, eligible, x.Err)
	}
	if panic, sure := d.model.panics(d.now, w, &c.request, 0); sure && allowed && panic != x.Panic {
		d.Fatalf("%s for %+v at %d: panic %v, want %v", c.workload, c.request, d.now, x.Panic, panic)
	}
}

func (s reasons) String() (all string) {
	for r := route.Pass + 1; r < route.Reasons; r++ {
		if s&reason(r) != 0 {
			all += " " + r.String()
		}
	}
	return "[" + all + " ]"
}

// permits: each is used at most once, judged at most once, and only if it was given.
func (d *drill) permits() {
	for number, all := range d.probes {
		started, ended := 0, 0
		for _, o := range all {
			if o == route.ProbeStarted {
				started++
			} else {
				ended++
			}
		}
		if number > d.granted || started > 1 || ended > 1 {
			d.Fatalf("permit %d of %d: %v", number, d.granted, all)
		}
	}
}
