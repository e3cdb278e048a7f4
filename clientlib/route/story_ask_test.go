package route_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/clientlib/route"
)

// ask answers the questions: what stands, what happened, what would happen.
func (s *stage) ask(a args) string {
	switch a.words[0] {
	case "events":
		return s.events()
	case "report":
		return s.report()
	case "urgent":
		return fmt.Sprintln(s.router.Urgent())
	case "explain":
		return s.explain(a)
	case "record":
		return showRecord(&s.record)
	case "health":
		return s.health(a.word(1))
	case "strains":
		return s.strains()
	case "endpoints":
		out := ""
		for _, e := range s.router.Endpoints(s.now, nil) {
			out += fmt.Sprintf("%s in_flight %d ttft %s local %s fleet %s share %s%s\n", e.Name, e.InFlight, show(e.TTFT), e.Local, e.Fleet, number(e.Share), evidence(e.Evidence))
		}
		return out
	}
	return "unknown command " + a.words[0] + "\n"
}

func (s *stage) strains() (out string) {
	for _, e := range s.router.Strains(s.now, nil) {
		if e.Endpoint != "" {
			out += "limited " + e.Endpoint + "\n"
		} else {
			out += "spilling " + e.Workload + "\n"
		}
	}
	return out
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func (s *stage) health(name string) string {
	for _, e := range s.router.Endpoints(s.now, nil) {
		if e.Name == name {
			return fmt.Sprintf("%s slowdown %s of %s served %s of %s\n", e.Name, number(e.Slowdown), number(e.SlowdownSamples), number(e.Successes), number(e.Samples))
		}
	}
	return "no endpoint " + name + "\n"
}

// failure is an error with its facts.
func (s *stage) failure(err error) string {
	out := err.Error()
	var shed *route.ShedError
	var end *route.EndError
	if errors.As(err, &end) && end.Shed != nil {
		out, shed = out+"; "+end.Shed.Error(), end.Shed
	}
	if (shed != nil || errors.As(err, &shed)) && shed.RetryAt > 0 {
		out += "; again in " + show(shed.RetryAt-s.now)
	}
	return out
}

func (s *stage) events() string {
	out := ""
	for _, e := range s.router.Events(nil) {
		out += e.Kind.String()
		for _, v := range []string{e.Endpoint, e.Workload, e.Name} {
			if v != "" {
				out += " " + v
			}
		}
		if e.Kind == route.EventOpened || e.Kind == route.EventClosed {
			out += " " + className(e.Class)
		}
		if e.Kind == route.EventOpened {
			out += " " + e.Phase.String()
		}
		if e.Soft {
			out += " soft"
		}
		if e.Until > 0 {
			out += " for " + show(e.Until-s.now)
		}
		if e.Count > 0 {
			out += " " + strconv.Itoa(e.Count)
		}
		if e.Reason != "" {
			out += ": " + e.Reason
		}
		out += "\n"
	}
	return out
}

func (s *stage) report() string {
	r := s.router.Report(s.now)
	out := ""
	for _, row := range r.Rows {
		out += fmt.Sprintf("row %s %s %s admitted %d/%d finished %d/%d slow %d limited %d excluded %d in_flight %d pending %d outstanding %d cost %v ttft %d\n",
			row.Endpoint, className(row.Class), row.Workload, row.Admitted, row.AdmitFailed, row.Finished, row.FinishFailed,
			row.Slow, row.Limited, row.Excluded, row.InFlight, row.PendingPromptTokens, row.OutstandingTokens, row.Cost, len(row.TTFT))
		if row.Invalid > 0 {
			out = strings.TrimSuffix(out, "\n") + fmt.Sprintf(" invalid %d\n", row.Invalid)
		}
	}
	for _, v := range r.Votes {
		out += fmt.Sprintf("vote %s %s %s round %d soft %v: %s\n", v.Endpoint, className(v.Class), v.Phase, v.Round, v.Soft, v.Reason)
	}
	for _, p := range r.Probes {
		name := []string{"", "unused", "started", "good", "bad"}[p.Outcome]
		out += fmt.Sprintf("probe %d %s %s round %d %s\n", p.Permit, p.Endpoint, className(p.Class), p.Round, name)
	}
	return out
}

// showRecord is a decision with the exact inputs of its scores.
func showRecord(d *route.Record) string {
	out := fmt.Sprintf("%v by %v/%d seed %d attempt %d revision %d: %s", d.Way, d.Strategy, d.StrategyVersion, d.Seed, d.Attempt, d.Revision, d.Endpoint())
	for reason := range route.Reasons {
		if d.Refused&(1<<reason) != 0 {
			out += fmt.Sprintf(" refused %v", reason)
		}
	}
	if d.Refusals > 0 {
		out += fmt.Sprintf(" %d draws", d.Refusals)
	}
	out += "\n"
	for i := range d.Drawn {
		v := &d.Candidates[i]
		out += fmt.Sprintf("  %s samples %d aged %dms row %dms", v.Endpoint, d.Known[i].Samples, d.Known[i].SampleAge, d.Known[i].RowAge)
		if d.Drawn == 2 {
			if d.Strategy != route.LeastTokens {
				out += fmt.Sprintf(" load %v time %v price %v share %v", v.Load, v.Time, v.Price, v.Share)
			}
			out += tokens(&v.Inputs) + fmt.Sprintf(" score %v", d.Score(int(i)))
		}
		out += liking(d.Liking) + "\n"
	}
	if d.Drawn == 2 && d.Score(0) == d.Score(1) && d.Bias == 0 {
		out += fmt.Sprintf("  tie %d\n", d.Tie)
	}
	if d.Bias != 0 {
		out += fmt.Sprintf("  bias %v\n", d.Bias)
	}
	return out
}

// tokens and liking are what only some strategies ask for.
func tokens(in *route.Inputs) string {
	switch {
	case in.Rate > 0:
		return fmt.Sprintf(" tokens %v rate %v", in.Tokens, in.Rate)
	case in.Temper > 0:
		return fmt.Sprintf(" tokens %v temper %v health %v", in.Tokens, in.Temper, in.Health)
	}
	return ""
}

func liking(v route.Liking) (out string) {
	if v.Factor > 0 {
		out = fmt.Sprintf(" factor %v", v.Factor)
	}
	if v.Top > 0 {
		out += fmt.Sprintf(" top %v", v.Top)
	}
	return out
}

// evidence is how old what is known of an endpoint is; what is not known is not told.
func evidence(e route.Evidence) (out string) {
	if e.Samples > 0 {
		out = fmt.Sprintf(" samples %d aged %s", e.Samples, show(e.SampleAge))
	}
	if e.RowAge != route.Absent {
		out += " row " + show(e.RowAge)
	}
	return out
}

func (s *stage) explain(a args) string {
	x := s.router.Explain(s.now, a.word(1), s.request(a))
	var out strings.Builder
	if x.Panic {
		out.WriteString("panic\n")
	}
	for _, t := range x.Tiers {
		state := "up"
		if t.Down {
			state = "down"
		}
		fmt.Fprintf(&out, "tier %s %s eligible %s\n", t.Name, state, number(t.Eligible))
	}
	for _, c := range x.Candidates {
		fmt.Fprintf(&out, "  %s %s %v", c.Tier, c.Endpoint, c.Reason)
		if c.Reason == route.Pass {
			fmt.Fprintf(&out, " load %v time %v price %v share %v%s score %v", c.Load, c.Time, c.Price, c.Share, tokens(&c.Inputs)+liking(c.Liking), c.Score)
		}
		if c.ProbeDue {
			out.WriteString(" probe due")
		}
		out.WriteString(evidence(c.Evidence) + "\n")
	}
	if x.Err != nil {
		out.WriteString("fails: " + s.failure(x.Err) + "\n")
	}
	return out.String()
}
