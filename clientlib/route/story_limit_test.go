package route_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/limit"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

func tenant(a args) route.Tenant {
	t := route.Tenant{
		Name: a.word(1), Workloads: a.list("workloads"), Regions: a.list("regions"), Compliance: a.list("compliance"),
		Caps: route.Caps{Concurrency: a.int("concurrency", route.Absent), Requests: a.int("requests", route.Absent), Tokens: a.int("tokens", route.Absent)},
	}
	t.Priority = map[string]route.Priority{"standard": route.PriorityStandard, "batch": route.PriorityBatch}[a.values["priority"]]
	if usd, ok := a.values["budget"]; ok {
		n, err := money.ParseUSD(usd)
		if err != nil {
			panic(err)
		}
		t.Budget = route.Budget{Has: true, Limit: n, PerMonth: a.is("monthly"), Warn: a.float("warn", 0.8), Cheapest: a.is("cheapest")}
	}
	for _, v := range a.list("reserve") {
		r := route.Reservation{Requests: route.Absent, Tokens: route.Absent}
		words := strings.Split(v, ":")
		r.Quota = words[0]
		for _, w := range words[1:] {
			unit := route.Absent
			if n, _ := fmt.Sscanf(w, "requests/%d", &unit); n == 1 {
				r.Requests = int64(unit)
			} else if n, _ := fmt.Sscanf(w, "tokens/%d", &unit); n == 1 {
				r.Tokens = int64(unit)
			}
		}
		t.Reservations = append(t.Reservations, r)
	}
	return t
}

func (s *stage) limits(a args) string {
	switch a.words[0] {
	case "headers":
		return s.headers(a)
	case "lease":
		from := a.time("from", s.now)
		s.router.Lease(s.now, route.Lease{
			Quota: a.values["quota"], Tenant: a.values["tenant"], Dimension: dimension(a.word(1)),
			Lease: limit.Lease{Rate: a.int("rate", 0), Safe: a.int("safe", 0), From: from, Until: from + a.time("for", 10_000_000)},
		})
	case "cut", "back":
		s.router.CutOff(s.now, a.words[0] == "cut")
	case "quotas":
		out := ""
		for _, q := range s.router.Quotas(s.now, nil) {
			if len(a.words) > 1 && !a.is(q.Name) {
				continue
			}
			out += q.Name
			if q.Tenant != "" {
				out += " of " + q.Tenant
			}
			out += fmt.Sprintf(" %v limit %d remaining %d reset %s", q.Dimension, q.Limit, q.Remaining, show(q.Reset))
			if q.CooledUntil > s.now {
				out += " cools for " + show(q.CooledUntil-s.now)
			}
			out += "\n"
		}
		return out
	}
	return ""
}

func (s *stage) headers(a args) string {
	var h limit.Headers
	for d := range limit.Dimensions {
		of := &h.Of[d]
		if _, of.HasRemaining = a.values[d.String()+".remaining"]; of.HasRemaining {
			of.Remaining = a.int(d.String()+".remaining", 0)
		}
		if _, of.HasReset = a.values[d.String()+".reset"]; of.HasReset {
			of.Reset = a.time(d.String()+".reset", 0)
		}
	}
	if !s.router.Headers(s.now, s.calls[a.word(1)].attempt, h) {
		return a.word(1) + " is stale\n"
	}
	return ""
}

func dimension(name string) limit.Dimension {
	for d := range limit.Dimensions {
		if d.String() == name {
			return d
		}
	}
	panic(name)
}

// wallAt is what the wall clock says when the story's clock is 0.
func wallAt(date string) int64 {
	t, err := time.Parse(time.RFC3339, date)
	if err != nil {
		panic(err)
	}
	return t.UnixMicro()
}
