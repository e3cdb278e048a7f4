package route_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

// declare takes the lines that describe a catalog, a fleet, or this process.
func (s *stage) declare(a args) bool {
	switch a.words[0] {
	case "endpoint":
		replace(&s.catalog.Endpoints, s.endpoint(a), func(e route.Endpoint) string { return e.Name })
	case "workload":
		replace(&s.catalog.Workloads, s.workload(a), func(w route.Workload) string { return w.Name })
	case "tenant":
		replace(&s.catalog.Tenants, tenant(a), func(t route.Tenant) string { return t.Name })
	case "quota":
		replace(&s.catalog.Quotas, quota(a), func(q route.Quota) string { return q.Name })
	case "override":
		s.catalog.Overrides = append(s.catalog.Overrides, override(a))
	case "unoverride":
		s.catalog.Overrides = nil
	case "remove":
		s.catalog.Endpoints = slices.DeleteFunc(s.catalog.Endpoints, func(e route.Endpoint) bool { return e.Name == a.word(1) })
	case "unquota":
		s.catalog.Quotas = slices.DeleteFunc(s.catalog.Quotas, func(q route.Quota) bool { return q.Name == a.word(1) })
	case "unusable":
		s.unusable[a.word(1)] = route.ReasonCredential
		if a.is("unsupported") {
			s.unusable[a.word(1)] = route.ReasonUnsupported
		}
	case "locality":
		s.local.Locality = a.word(1)
	case "wall":
		s.local.Wall = wallAt(a.word(1))
	case "fleet":
		return s.declareFleet(a)
	default:
		return false
	}
	return true
}

func replace[T any](all *[]T, v T, name func(T) string) {
	for i := range *all {
		if name((*all)[i]) == name(v) {
			(*all)[i] = v
			return
		}
	}
	*all = append(*all, v)
}

func (s *stage) endpoint(a args) route.Endpoint {
	e := route.Endpoint{
		Name: a.word(1), Identity: uint64(a.int("identity", 1)), Model: a.text("model", "m"), Artifact: "m@1", WireModel: "m",
		APIs: []string{"chat"}, Capabilities: []string{"stream", "tools"}, Compliance: a.list("compliance"),
		Region: a.values["region"], Credential: a.word(1), Quotas: a.list("quotas"),
		ContextWindow: a.int("window", 100_000), MaxOutputTokens: a.int("cap", 50_000),
		Weight: a.int("weight", 100), Concurrency: a.int("concurrency", route.Absent),
		Breaker: breaker.Policy{
			Window: micros("5s"), SlowWindow: micros("60s"), MinSamples: a.int("min_samples", 20),
			Consecutive: a.int("consecutive", 5), FailureRatio: a.float("failure_ratio", 0.5),
			TTFTLimit: a.time("ttft_limit", 0), Cooldown: a.time("cooldown", 5_000_000),
			CooldownMax: a.time("cooldown_max", 120_000_000), Probes: 3, Ramp: 30_000_000, MaxEjected: 0.5,
		},
	}
	if _, ok := a.values["apis"]; ok {
		e.APIs = a.list("apis")
	}
	if _, ok := a.values["capabilities"]; ok {
		e.Capabilities = a.list("capabilities")
	}
	if v, ok := a.values["credential"]; ok {
		e.Credential = v
	}
	if v, ok := a.values["artifact"]; ok {
		e.Artifact = v
	}
	if a.is("tool") {
		e.Model, e.Artifact, e.ContextWindow, e.MaxOutputTokens = "", "", 0, 0
	}
	e.Capacity = route.Capacity{TPOT: a.time("tpot", 0), Slots: a.int("slots", 0), PrefillTPS: a.int("prefill_tps", 0)}
	e.Metrics = a.values["metrics"]
	if v, ok := a.values["price"]; ok {
		in, out, _ := strings.Cut(v, "/")
		e.Price.Input, e.Price.Output = price(in), price(out)
	}
	if date, ok := a.values["retires"]; ok {
		e.Retires = wallAt(date)
	}
	if a.is("weightless") {
		e.Weight = route.Absent
	}
	return e
}

func price(usd string) money.Pico {
	p, err := money.ParsePrice(usd)
	if err != nil {
		panic(err)
	}
	return p
}

func (s *stage) workload(a args) route.Workload {
	w := route.Workload{
		Name: a.word(1), Unusable: a.values["unusable"], APIs: []string{"chat"}, Strategy: route.P2C,
		MoneyPerMS: money.Nano(a.int("money_per_ms", 0)), Whole: a.is("whole"), FilterElsewhere: a.is("filter_elsewhere"),
		EscalateQuality: slices.Contains(a.list("escalate_on"), "quality"), EscalateContext: slices.Contains(a.list("escalate_on"), "context"),
		Contract: route.Contract{
			Requires: a.list("requires"), NeedsContext: a.int("needs_context", 0), NeedsOutputTokens: a.int("needs_output", 0),
			MaxTTFT: a.time("max_ttft", 0), Regions: a.list("regions"), Compliance: a.list("compliance"),
		},
		Attempts: route.Attempts{
			Max: a.int("max", 3), RetryRatio: a.float("retry_ratio", 0.1), RetryReserve: a.int("retry_reserve", 10),
			SameEndpoint: a.int("same_endpoint", 0), Connect: a.time("connect", 2_000_000), FirstToken: a.time("first_token", 10_000_000),
			Answer: a.time("answer", 180_000_000), Stall: a.time("stall", 20_000_000), Total: a.time("total", 600_000_000),
		},
	}
	for st := route.NoStrategy; st <= route.CostTiered; st++ {
		if a.values["strategy"] == st.String() {
			w.Strategy = st
		}
	}
	w.Affinity = route.Affinity{On: affinities[a.values["affinity"]], Slack: a.float("slack", 2.5)}
	if a.values["rule"] == "score" {
		w.Affinity.Rule, w.Affinity.Slack = route.AffinityScore, a.float("slack", 1.25)
	}
	w.Bands, w.PreferQuality = bands(a.values["bands"]), a.is("prefer_quality")
	if _, ok := a.values["apis"]; ok {
		w.APIs = a.list("apis")
	}
	for t := range strings.SplitSeq(a.values["tiers"], ";") {
		name, endpoints, _ := strings.Cut(t, ":")
		w.Tiers = append(w.Tiers, route.Tier{Name: name, Endpoints: strings.Split(endpoints, ",")})
	}
	return w
}

// bands reads NAME:UPTO:MODEL,MODEL;NAME::MODEL, the second up to any size.
func bands(list string) (all []route.Band) {
	for b := range strings.SplitSeq(list, ";") {
		part := strings.Split(b, ":")
		if len(part) != 3 {
			continue
		}
		upto, err := strconv.ParseInt(part[1], 10, 64)
		if err != nil {
			upto = route.Absent
		}
		all = append(all, route.Band{Name: part[0], UptoTokens: upto, Models: strings.Split(part[2], ",")})
	}
	return all
}

var affinities = map[string]route.AffinityOn{"prefix": route.AffinityPrefix, "session": route.AffinitySession, "tenant": route.AffinityTenant}

func quota(a args) route.Quota {
	return route.Quota{
		Name: a.word(1), Requests: a.int("requests", route.Absent), Tokens: a.int("tokens", route.Absent), Input: a.int("input", route.Absent),
		Output: a.int("output", route.Absent), Daily: a.int("daily", route.Absent), Fixed: a.is("fixed"), Hold: a.is("hold"),
	}
}

func override(a args) route.Override {
	o := route.Override{Endpoint: a.word(1), Drain: a.is("drain"), Weight: a.int("weight", route.Absent), Until: a.time("until", 0)}
	if a.is("open") {
		o.Forced = route.ForcedOpen
	}
	if a.is("closed") {
		o.Forced = route.ForcedClosed
	}
	return o
}

// declareFleet: "fleet row E …", "fleet breaker E …", "fleet retry W …", "fleet none".
func (s *stage) declareFleet(a args) bool {
	switch a.word(1) {
	case "none":
		s.fleet = route.Fleet{}
	case "row":
		row := route.FleetEndpoint{Name: a.word(2), Identity: uint64(a.int("identity", 1)), At: a.time("at", s.now), Speed: a.float("speed", 0)}
		load := route.FleetLoad{
			InFlight: uint64(a.int("in_flight", 0)), OutstandingTokens: uint64(a.int("tokens", 0)), PendingPromptTokens: uint64(a.int("pending", 0)),
			Successes: a.float("ok", 0), Samples: a.float("n", 0), Slowdown: a.float("slowdown", 0), SlowdownSamples: a.float("slow_samples", 0),
		}
		if load != (route.FleetLoad{}) {
			row.Loads = []route.FleetLoad{load}
		}
		replace(&s.fleet.Endpoints, row, func(e route.FleetEndpoint) string { return e.Name })
	case "breaker":
		b := route.FleetBreaker{
			Class: class(a), Locality: a.values["locality"], Round: uint64(a.int("round", 1)), Soft: a.is("soft"),
			OpenUntil: a.time("until", 0), RampFrom: a.time("from", s.now), RampFor: a.time("for", 30_000_000), RampSuccesses: uint64(a.int("successes", 0)),
			State: map[string]route.FleetState{"closed": route.FleetClosed, "open": route.FleetOpen, "half_open": route.FleetHalfOpen, "ramp": route.FleetRamp}[a.values["state"]],
		}
		for i := range s.fleet.Endpoints {
			if e := &s.fleet.Endpoints[i]; e.Name == a.word(2) {
				e.Breakers = append(slices.Clone(e.Breakers), b)
			}
		}
	case "retry":
		replace(&s.fleet.Workloads, route.FleetWorkload{Name: a.word(2), At: a.time("at", s.now), RetryFactor: a.float("factor", 1)},
			func(w route.FleetWorkload) string { return w.Name })
	}
	return true
}

var classNames = map[string]breaker.Class{"": breaker.Any, "any": breaker.Any, "stream": breaker.Stream, "tools": breaker.Tools, "long": breaker.Long}

func class(a args) breaker.Class { return classNames[a.values["class"]] }

func className(c breaker.Class) string {
	for name, v := range classNames {
		if v == c && name != "" {
			return name
		}
	}
	return "unknown"
}

var phaseNames = map[string]breaker.Phase{"admit": breaker.Admit, "finish": breaker.Finish}

func (s *stage) permit(a args) route.Permit {
	return route.Permit{
		Number: uint64(a.int("number", 1)), Endpoint: a.word(1), Identity: uint64(a.int("identity", 1)), Class: class(a),
		Phase: phaseNames[a.values["phase"]], Round: uint64(a.int("round", 1)), UseBy: a.time("use_by", s.now+2_000_000),
	}
}

func outcome(a args) route.Outcome {
	o := route.Outcome{RetryAfter: a.time("after", 0), Status: int(a.int("status", 0)), Detail: a.values["detail"]}
	for k := route.Abandoned; k <= route.Unsent; k++ {
		if k.String() == a.word(2) {
			o.Kind = k
		}
	}
	if in, ok := a.values["used"]; ok {
		o.HasUsage, o.Estimated = true, a.is("estimated")
		_, _ = fmt.Sscanf(in, "%d/%d", &o.Usage.Input, &o.Usage.Output)
		o.Usage.Cached = a.int("cached", 0)
	}
	return o
}
