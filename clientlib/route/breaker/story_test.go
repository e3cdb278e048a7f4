package breaker

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/test/story"
)

// See (*stage).run for the commands.
func TestStories(t *testing.T) {
	story.Run(t, "testdata/*.txt", func(*testing.T) func(string) string { return story.Lines(newStage().run) })
}

// stage is one breaker with a clock.
type stage struct {
	b      Breaker
	now    time.Duration
	rounds map[string]uint64
	draw   uint32
}

func newStage() *stage {
	s := &stage{rounds: map[string]uint64{}}
	s.b.SetPolicy(&Policy{
		Window: 5e6, SlowWindow: 60e6, MinSamples: 20, Consecutive: 5, FailureRatio: 0.5,
		Cooldown: 5e6, CooldownMax: 120e6, Probes: 3,
	})
	return s
}

func (s *stage) us() int64 { return s.now.Microseconds() }

// run obeys one line: a verb, then arguments, some of them name=value.
func (s *stage) run(line string) string {
	words := strings.Fields(line)
	args := map[string]string{}
	for _, w := range words[1:] {
		k, v, _ := strings.Cut(w, "=")
		args[k] = v
	}
	switch words[0] {
	case "policy":
		return s.policy(args)
	case "at", "wait":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			return err.Error() + "\n"
		}
		if words[0] == "wait" {
			d += s.now
		}
		s.now = d
	case "draw":
		u, _ := strconv.ParseUint(words[1], 10, 32)
		s.draw = uint32(u)
	case "ok", "fail", "late", "overdue", "mixed", "invalid":
		return s.samples(words[0], args)
	case "pick":
		s.rounds[words[1]] = s.b.Round()
	case "probe":
		return s.probe(words[1], classes(args))
	case "due":
		return fmt.Sprintf("due %v\n", s.b.ProbeDue(s.us(), classes(args)))
	case "return":
		s.b.Return(s.rounds[words[1]])
	case "fleet":
		return s.fleet(words[1:])
	case "refuses":
		return s.refuses(classes(args))
	case "trips":
		return s.trips()
	default:
		return "unknown command " + words[0] + "\n"
	}
	return ""
}

func (s *stage) policy(args map[string]string) string {
	p := *s.b.policy
	durations := map[string]*int64{
		"window": &p.Window, "slow_window": &p.SlowWindow, "ttft_limit": &p.TTFTLimit,
		"cooldown": &p.Cooldown, "cooldown_max": &p.CooldownMax,
	}
	numbers := map[string]*int64{"min_samples": &p.MinSamples, "consecutive": &p.Consecutive}
	for k, v := range args {
		if to, ok := durations[k]; ok {
			d, _ := time.ParseDuration(v)
			*to = d.Microseconds()
		} else if to, ok := numbers[k]; ok {
			*to, _ = strconv.ParseInt(v, 10, 64)
		} else if k == "failure_ratio" {
			p.FailureRatio, _ = strconv.ParseFloat(v, 64)
		} else {
			return "unknown field " + k + "\n"
		}
	}
	s.b.SetPolicy(&p)
	return ""
}

// samples records n of a kind; mixed: one failure after each success.
func (s *stage) samples(kind string, args map[string]string) (out string) {
	n, every := 1, time.Duration(0)
	if v, ok := args["n"]; ok {
		n, _ = strconv.Atoi(v)
	}
	if v, ok := args["every"]; ok {
		every, _ = time.ParseDuration(v)
	}
	for i := range n {
		if i > 0 {
			s.now += every
		}
		round := s.b.Round()
		if v, ok := args["of"]; ok {
			round = s.rounds[v]
		}
		failed := kind == "fail" || kind == "invalid" || kind == "mixed" && i%2 == 1
		sample := Sample{Classes: classes(args), Round: round, Failed: failed}
		if args["phase"] == "finish" {
			sample.Phase = Finish
		}
		switch kind {
		case "invalid":
			sample.Phase = Quality
		case "ok":
			sample.Pace = OnTime
		case "late":
			sample.Pace = Late
		case "overdue":
			out += s.changed(s.b.Overdue(s.us(), s.draw, sample.Classes, round))
			continue
		}
		out += s.changed(s.b.Record(s.us(), s.draw, sample))
	}
	return out
}

func (s *stage) changed(ch Change) (out string) {
	if ch.Opened != 0 {
		out += fmt.Sprintf("%v opened %s\n", s.now, names(ch.Opened))
	}
	if ch.Closed != 0 {
		out += fmt.Sprintf("%v closed %s\n", s.now, names(ch.Closed))
	}
	return out
}

func (s *stage) probe(name string, set ClassSet) string {
	round, ok := s.b.Probe(s.us(), set)
	if !ok {
		return fmt.Sprintf("%v no probe before %v\n", s.now, time.Duration(s.b.Until(set))*time.Microsecond)
	}
	s.rounds[name] = round
	return fmt.Sprintf("%v probe\n", s.now)
}

func (s *stage) fleet(words []string) string {
	standing := map[string]Standing{"free": Free, "held": Held, "ramping": Ramping, "lost": Lost}
	w := Word{Standing: standing[words[1]]}
	for c := range Classes {
		if c.String() == words[0] {
			w.Class = c
		}
	}
	if len(words) > 2 {
		w.Round, _ = strconv.ParseUint(strings.TrimPrefix(words[2], "round="), 10, 64)
	}
	return s.changed(s.b.Fleet(s.us(), s.draw, w))
}

func (s *stage) refuses(set ClassSet) string {
	refuses, soft := s.b.Refuses(set)
	return fmt.Sprintf("%s: refuses %v, soft %v\n", names(set), refuses, soft)
}

func (s *stage) trips() (out string) {
	for _, t := range s.b.Trips(nil) {
		kind := "hard"
		if t.Soft {
			kind = "soft"
		}
		if !t.Vote {
			kind += ", no vote"
		}
		until := time.Duration(t.Until) * time.Microsecond
		out += fmt.Sprintf("%v %v: %s, round %d, until %v: %s\n", t.Class, t.Phase, kind, t.Round, until, t.Reason)
	}
	if out == "" {
		return "none\n"
	}
	return out
}

// classes reads class=stream+tools; any is always among them.
func classes(args map[string]string) ClassSet {
	set := Any.Set()
	for name := range strings.SplitSeq(args["class"], "+") {
		for c := range Classes {
			if c.String() == name {
				set |= c.Set()
			}
		}
	}
	return set
}

func names(set ClassSet) string {
	var out []string
	for c := range Classes {
		if set.Has(c) {
			out = append(out, c.String())
		}
	}
	return strings.Join(out, "+")
}
