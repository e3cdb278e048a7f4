package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/test/story"
)

// See (*stage).run for the commands. Everything happens twice, since the same news in the
// same order must have the same consequences.
func TestStories(t *testing.T) {
	story.Run(t, "testdata/*.txt", func(t *testing.T) func(string) string {
		s, again := newStage(), newStage()
		return story.Lines(func(line string) string {
			got := s.run(line) + s.news()
			if diff := gocmp.Diff(got, again.run(line)+again.news()); diff != "" {
				t.Errorf("%s: the second time it went differently:\n%s", line, diff)
			}
			return got
		})
	})
}

// stage is the fleet, with a clock and those who report.
type stage struct {
	fleet   *Fleet
	catalog *route.Catalog
	policy  breaker.Policy
	now     time.Duration
	leaves  map[string]*teller
	permits []Grant
	factors map[string]route.FleetWorkload // as last told
}

// teller is a leaf that the story speaks for.
type teller struct {
	locality, node        string
	incarnation, sequence uint64
	votes                 []route.Vote
	spent                 []route.SpentQuota
}

func newStage() *stage {
	return &stage{
		now: 10 * time.Second, fleet: New(Config{Term: 1}), catalog: &route.Catalog{}, leaves: map[string]*teller{}, factors: map[string]route.FleetWorkload{},
		policy: breaker.Policy{
			Window: 5 * second, SlowWindow: minute, MinSamples: 20, Consecutive: 5, FailureRatio: 0.5, TTFTLimit: 10 * second,
			Cooldown: 5 * second, CooldownMax: 2 * minute, Probes: 3, Ramp: 30 * second, MaxEjected: 0.5,
		},
	}
}

func (s *stage) us() int64 { return s.now.Microseconds() }

// run obeys one line: a verb, names (n1-3 is n1, n2 and n3), and arguments name=value.
func (s *stage) run(line string) string {
	words := strings.Fields(line)
	args := map[string]string{}
	var names []string
	for _, w := range words[1:] {
		if k, v, ok := strings.Cut(w, "="); ok {
			args[k] = v
		} else {
			names = append(names, w)
		}
	}
	switch words[0] {
	case "policy":
		return s.setPolicy(args)
	case "endpoint", "workload", "drain", "weigh":
		return s.declare(words[0], names, args)
	case "apply":
		s.fleet.Apply(s.us()-learning, s.catalog) // so that most stories need not wait for it
	case "begin": // a judge that follows nobody
		s.fleet = New(Config{Term: s.fleet.term + 1})
		s.fleet.Apply(s.us(), s.catalog)
	case "takeover":
		s.fleet = New(Config{Term: s.fleet.term + 1, Held: s.fleet.Rows(s.us())})
		s.fleet.Apply(s.us(), s.catalog)
	case "wait":
		return s.wait(names[0])
	case "report", "vote", "heal", "gone", "shed", "spent":
		return s.leavesDo(words[0], names, args)
	case "probe":
		return s.probe(names, args)
	case "retries":
		return s.retries(names[0])
	case "engine", "reach":
		s.agentSays(words[0], names, args)
	case "status":
		return s.status()
	case "row":
		return s.row(names[0])
	case "changed":
		names, urgent := s.fleet.Changed()
		return fmt.Sprintf("changed %v, urgent %v\n", names, urgent)
	default:
		return "unknown command " + words[0] + "\n"
	}
	return ""
}

// news tells of permits and events since the last command.
func (s *stage) news() (out string) {
	for _, e := range s.fleet.Events() {
		if e.Kind == Limited || e.Kind == Spilling {
			out += fmt.Sprintf("%v %s%s is %v: %s\n", time.Duration(e.At)*time.Microsecond, e.Endpoint, e.Name, e.Kind, e.Evidence)
			continue
		}
		kind, where := "", ""
		if e.Soft {
			kind = " softly"
		}
		if e.Locality != "" {
			where = " in " + e.Locality
		}
		out += fmt.Sprintf("%v %s %v %v%s%s, round %d: %s\n", time.Duration(e.At)*time.Microsecond, e.Endpoint, e.Class, e.Kind, kind, where, e.Round, e.Evidence)
	}
	for _, w := range s.fleet.Retries() {
		s.factors[w.Name] = w
	}
	for _, g := range s.fleet.Grants() {
		s.permits = append(s.permits, g)
		p := g.Permit
		out += fmt.Sprintf("%v permit %d to %s: %s %v %v, round %d, use within %v\n", s.now, len(s.permits), g.Leaf, p.Endpoint, p.Class, p.Phase, p.Round, time.Duration(p.UseBy-s.us())*time.Microsecond)
	}
	return out
}

func (s *stage) setPolicy(args map[string]string) string {
	durations := map[string]*int64{
		"window": &s.policy.Window, "slow_window": &s.policy.SlowWindow, "ttft_limit": &s.policy.TTFTLimit,
		"cooldown": &s.policy.Cooldown, "cooldown_max": &s.policy.CooldownMax, "ramp": &s.policy.Ramp,
	}
	numbers := map[string]*int64{"min_samples": &s.policy.MinSamples, "probes": &s.policy.Probes}
	ratios := map[string]*float64{"failure_ratio": &s.policy.FailureRatio, "max_ejected": &s.policy.MaxEjected}
	for k, v := range args {
		switch {
		case durations[k] != nil:
			d, _ := time.ParseDuration(v)
			*durations[k] = d.Microseconds()
		case numbers[k] != nil:
			*numbers[k], _ = strconv.ParseInt(v, 10, 64)
		case ratios[k] != nil:
			*ratios[k], _ = strconv.ParseFloat(v, 64)
		default:
			return "unknown field " + k + "\n"
		}
	}
	return ""
}

func (s *stage) declare(what string, names []string, args map[string]string) string {
	name := names[0]
	switch what {
	case "endpoint":
		e := route.Endpoint{Name: name, Identity: number(args, "identity", 1), Provider: cmp.Or(args["provider"], name), Weight: route.Absent, Breaker: s.policy}
		if v, ok := args["weight"]; ok {
			e.Weight, _ = strconv.ParseInt(v, 10, 64)
		}
		e.Capacity = route.Capacity{PrefillTPS: int64(number(args, "prefill_tps", 0)), TPOT: int64(number(args, "tpot_us", 0))}
		if v := args["can"]; v != "" {
			e.Capabilities = strings.Split(v, ",")
		}
		s.catalog = s.with(func(c *route.Catalog) {
			c.Endpoints = slices.DeleteFunc(c.Endpoints, func(o route.Endpoint) bool { return o.Name == name })
			if _, gone := args["gone"]; !gone {
				c.Endpoints = append(c.Endpoints, e)
			}
		})
	case "workload":
		w := route.Workload{Name: name, Attempts: route.Attempts{FirstToken: 10 * second, Answer: 20 * second, Total: minute}}
		if v := args["requires"]; v != "" {
			w.Contract.Requires = strings.Split(v, ",")
		}
		for _, tier := range names[1:] {
			w.Tiers = append(w.Tiers, route.Tier{Endpoints: strings.Split(tier, ",")})
		}
		s.catalog = s.with(func(c *route.Catalog) {
			c.Workloads = slices.DeleteFunc(c.Workloads, func(o route.Workload) bool { return o.Name == name })
			if _, gone := args["gone"]; !gone {
				c.Workloads = append(c.Workloads, w)
			}
		})
	case "drain":
		s.catalog = s.with(func(c *route.Catalog) {
			c.Overrides = append(c.Overrides, route.Override{Endpoint: name, Drain: true, Weight: route.Absent, Until: int64(number(args, "until", 0)) * second})
		})
	case "weigh":
		s.catalog = s.with(func(c *route.Catalog) {
			c.Overrides = append(c.Overrides, route.Override{Endpoint: name, Weight: int64(number(args, "weight", 0))})
		})
	}
	return ""
}

// with is a changed copy: an applied catalog does not change.
func (s *stage) with(change func(*route.Catalog)) *route.Catalog {
	c := &route.Catalog{Endpoints: slices.Clone(s.catalog.Endpoints), Workloads: slices.Clone(s.catalog.Workloads), Overrides: slices.Clone(s.catalog.Overrides)}
	change(c)
	return c
}

// wait lets time pass as the shell does: it ticks when told to.
func (s *stage) wait(d string) (out string) {
	by, _ := time.ParseDuration(d)
	end := s.now + by
	for {
		next := time.Duration(s.fleet.Tick(s.us())) * time.Microsecond
		out += s.news()
		if next <= s.now {
			return out + fmt.Sprintf("bug: the next tick, %v, is not after %v\n", next, s.now)
		}
		if next > end {
			s.now = end
			return out
		}
		s.now = next
	}
}

func (s *stage) leavesDo(what string, names []string, args map[string]string) string {
	for _, name := range expand(names[0]) {
		l := s.leaves[name]
		if l == nil {
			l = &teller{incarnation: 1, node: name}
			s.leaves[name] = l
		}
		if v, ok := args["locality"]; ok {
			l.locality = v
		}
		if v, ok := args["node"]; ok {
			l.node = v
		}
		switch what {
		case "gone":
			s.fleet.Gone(s.us(), name)
			continue
		case "vote":
			l.votes = append(l.votes, s.vote(names[1], args))
		case "heal":
			l.votes = nil
		}
		r := s.say(name, l, args)
		switch what {
		case "report":
			r.Rows = append(r.Rows, s.rows(names[1], args)...)
		case "shed":
			r.Sheds = []route.Shed{{Workload: names[1], Kind: kinds[args["kind"]], Count: number(args, "n", 1)}}
		case "spent":
			d, _ := time.ParseDuration(args["for"])
			l.spent = []route.SpentQuota{{Quota: names[1], Until: s.us() + d.Microseconds()}}
			r.Spent = slices.Clone(l.spent)
		}
		s.fleet.Observe(s.us(), r)
	}
	return ""
}

// say begins a report: the next in sequence, unless the story says which.
func (s *stage) say(name string, l *teller, args map[string]string) route.Report {
	if v, ok := args["incarnation"]; ok {
		l.incarnation, _ = strconv.ParseUint(v, 10, 64)
		l.sequence = 0
	}
	l.sequence++
	r := route.Report{Leaf: name, Node: l.node, Locality: l.locality, Incarnation: l.incarnation, Sequence: number(args, "sequence", l.sequence), At: s.us(), Votes: slices.Clone(l.votes), Spent: slices.Clone(l.spent)}
	if v, ok := args["ago"]; ok {
		d, _ := time.ParseDuration(v)
		r.At -= d.Microseconds()
	}
	if v, ok := args["interval"]; ok {
		d, _ := time.ParseDuration(v)
		r.Interval = d.Microseconds()
	}
	return r
}

func (s *stage) vote(endpoint string, args map[string]string) route.Vote {
	v := route.Vote{Endpoint: endpoint, Identity: number(args, "identity", 1), Class: class(args["class"]), Round: number(args, "round", 0), Reason: "5 failures in a row"}
	if args["phase"] == "finish" {
		v.Phase = breaker.Finish
	}
	if _, ok := args["soft"]; ok {
		v.Soft, v.Reason = true, "above ttft_limit"
	}
	return v
}

// rows are one of any, and the same of each class named.
func (s *stage) rows(endpoints string, args map[string]string) (out []route.Row) {
	for endpoint := range strings.SplitSeq(endpoints, ",") {
		ok, finished := number(args, "ok", 0), number(args, "ok", 0)
		broken := number(args, "broken", 0)
		row := route.Row{
			Endpoint: endpoint, Identity: number(args, "identity", 1), Workload: cmp.Or(args["workload"], "chat"),
			Admitted: ok + broken, AdmitFailed: number(args, "fail", 0), Finished: finished, FinishFailed: broken,
			Slow: number(args, "slow", 0), Limited: number(args, "limited", 0),
			WorkUS: number(args, "work_ms", 0) * 1000, BusyUS: number(args, "busy_ms", 0) * 1000,
			WaitedUS: number(args, "waited_ms", 0) * 1000, ExplainedUS: number(args, "explained_ms", 0) * 1000,
			InFlight: number(args, "in_flight", 0), PendingPromptTokens: number(args, "pending", 0), OutstandingTokens: number(args, "outstanding", 0),
		}
		row.Admitted += row.Slow
		row.Finished += row.Slow
		out = append(out, row)
		if args["class"] == "" {
			continue
		}
		for name := range strings.SplitSeq(args["class"], "+") {
			row.Class = class(name)
			out = append(out, row)
		}
	}
	return out
}

// probe reports how permits were used.
func (s *stage) probe(names []string, args map[string]string) string {
	outcomes := map[string]route.ProbeOutcome{"unused": route.ProbeUnused, "started": route.ProbeStarted, "good": route.ProbeGood, "bad": route.ProbeBad}
	for _, n := range expand(names[0]) {
		i, _ := strconv.Atoi(strings.TrimPrefix(n, "p"))
		g := s.permits[i-1]
		leaf := cmp.Or(args["leaf"], g.Leaf)
		r := s.say(leaf, s.leaves[leaf], args)
		r.Probes = []route.ProbeResult{{Permit: g.Permit.Number, Endpoint: g.Permit.Endpoint, Identity: number(args, "identity", g.Permit.Identity), Class: g.Permit.Class, Round: g.Permit.Round, Outcome: outcomes[names[1]]}}
		s.fleet.Observe(s.us(), r)
	}
	return ""
}

func (s *stage) row(name string) (out string) {
	row, ok := s.fleet.Row(s.us(), name)
	if !ok {
		return name + ": nothing known\n"
	}
	states := []string{"closed", "open", "half-open", "ramp"}
	at := func(us int64) time.Duration { return time.Duration(us) * time.Microsecond }
	out = fmt.Sprintf("%s as of %v\n", name, at(row.At))
	if row.Speed != 0 {
		out = fmt.Sprintf("%s as of %v, speed %.2f\n", name, at(row.At), row.Speed)
	}
	for _, b := range row.Breakers {
		where := ""
		if b.Locality != "" {
			where = " in " + b.Locality
		}
		out += fmt.Sprintf("  %v%s: %s, round %d", b.Class, where, states[b.State], b.Round)
		switch b.State {
		case route.FleetOpen, route.FleetHalfOpen:
			out += fmt.Sprintf(", soft %v, until %v, %s", b.Soft, at(b.OpenUntil), b.Reason)
		case route.FleetRamp:
			out += fmt.Sprintf(", from %v for %v, %d successes", at(b.RampFrom), at(b.RampFor), b.RampSuccesses)
		}
		out += "\n"
	}
	for _, l := range row.Loads {
		out += fmt.Sprintf("  load %q: %d in flight, %d pending, %d outstanding, %.2f of %.2f served", l.Locality, l.InFlight, l.PendingPromptTokens, l.OutstandingTokens, l.Successes, l.Samples)
		if l.SlowdownSamples > 0 {
			out += fmt.Sprintf(", slowdown %.2f of %.2f", l.Slowdown, l.SlowdownSamples)
		}
		out += "\n"
	}
	return out
}

// retries is what clients were told of a workload's.
func (s *stage) retries(workload string) string {
	w, ok := s.factors[workload]
	if !ok || w.RetryFactor == 1 {
		return workload + ": all retries\n"
	}
	return fmt.Sprintf("%s: %.3f of its retries, as of %v\n", workload, w.RetryFactor, time.Duration(w.At)*time.Microsecond)
}

func class(name string) breaker.Class {
	for c := range breaker.Classes {
		if c.String() == name {
			return c
		}
	}
	return breaker.Any
}

func number(args map[string]string, name string, absent uint64) uint64 {
	v, ok := args[name]
	if !ok {
		return absent
	}
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// expand makes n1-3 of n1, n2 and n3.
func expand(names string) (out []string) {
	for name := range strings.SplitSeq(names, ",") {
		first, last, ok := strings.Cut(name, "-")
		if !ok {
			out = append(out, name)
			continue
		}
		prefix := strings.TrimRight(first, "0123456789")
		from, _ := strconv.Atoi(first[len(prefix):])
		to, _ := strconv.Atoi(last)
		for i := from; i <= to; i++ {
			out = append(out, prefix+strconv.Itoa(i))
		}
	}
	return out
}
