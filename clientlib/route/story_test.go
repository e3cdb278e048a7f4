package route_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/test/story"
)

const vectors = "../../test/vectors/"

// The format is in test/vectors/README.md.
func TestStories(t *testing.T) {
	story.Run(t, vectors+"stories/*.txt", func(*testing.T) func(string) string { return story.Lines(newStage().run) })
}

// stage is one router and what was declared so far.
type stage struct {
	now      int64
	seed     uint32
	catalog  route.Catalog
	fleet    route.Fleet
	local    route.Local
	unusable map[string]route.Reason
	snapshot *route.Snapshot
	router   *route.Router
	calls    map[string]*running
	record   route.Record // of the last attempt
}

type running struct {
	call    route.Call
	attempt route.Attempt
}

func newStage() *stage {
	s := &stage{now: 1_000_000, router: route.NewRouter(), calls: map[string]*running{}, unusable: map[string]route.Reason{}}
	s.local.Usable = func(e *route.Endpoint) route.Reason { return s.unusable[e.Name] }
	return s
}

// args are the words of a line: first the command, names, then key=value.
type args struct {
	words  []string
	values map[string]string
}

func parse(line string) args {
	a := args{values: map[string]string{}}
	for _, w := range strings.Fields(line) {
		if k, v, ok := strings.Cut(w, "="); ok {
			a.values[k] = v
		} else {
			a.words = append(a.words, w)
		}
	}
	return a
}

func (a args) word(i int) string {
	if i < len(a.words) {
		return a.words[i]
	}
	return ""
}

func (a args) is(flag string) bool { return slices.Contains(a.words, flag) }

func (a args) text(key, absent string) string { return cmp.Or(a.values[key], absent) }

func (a args) list(key string) []string {
	if a.values[key] == "" {
		return nil
	}
	return strings.Split(a.values[key], ",")
}

func (a args) int(key string, absent int64) int64 {
	v, ok := a.values[key]
	if !ok {
		return absent
	}
	n, err := strconv.ParseInt(v, 0, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func (a args) float(key string, absent float64) float64 {
	v, ok := a.values[key]
	if !ok {
		return absent
	}
	f, err := strconv.ParseFloat(v, 64)
	if err != nil {
		panic(err)
	}
	return f
}

func (a args) time(key string, absent int64) int64 {
	if v, ok := a.values[key]; ok {
		return micros(v)
	}
	return absent
}

func micros(v string) int64 {
	d, err := time.ParseDuration(v)
	if err != nil {
		panic(err)
	}
	return d.Microseconds()
}

func show(us int64) string { return (time.Duration(us) * time.Microsecond).String() }

// run does one line and answers with lines.
func (s *stage) run(line string) string {
	a := parse(line)
	if s.declare(a) {
		return ""
	}
	switch a.words[0] {
	case "at":
		s.now = micros(a.words[1])
		return ""
	case "apply":
		return s.apply()
	case "static":
		return s.snapshot.Static(a.word(1), a.word(2)).String() + "\n"
	case "pick", "next":
		return s.next(a)
	case "spread":
		return s.spread(a)
	case "headers", "lease", "cut", "back", "quotas":
		return s.limits(a)
	case "token", "content", "settle", "abandon":
		return s.mark(a)
	case "grant":
		s.router.Grant(s.now, s.permit(a))
		return ""
	case "tick":
		return "next " + show(s.router.Tick(s.now)-s.now) + "\n"
	}
	return s.ask(a)
}

func (s *stage) apply() string {
	c := s.catalog // a copy: a snapshot's catalog never changes
	c.Endpoints, c.Workloads = slices.Clone(c.Endpoints), slices.Clone(c.Workloads)
	c.Tenants, c.Overrides, c.Quotas = slices.Clone(c.Tenants), slices.Clone(c.Overrides), slices.Clone(c.Quotas)
	f := s.fleet
	f.Endpoints = slices.Clone(f.Endpoints)
	snapshot, err := route.Compile(s.snapshot, &c, &f, s.local)
	if err != nil {
		return err.Error() + "\n"
	}
	s.snapshot = snapshot
	s.router.Apply(s.now, snapshot)
	return "ok\n"
}

func (s *stage) request(a args) route.Request {
	return route.Request{
		Tenant: a.values["tenant"], API: a.values["api"], Needs: a.list("needs"), Stream: a.is("stream"),
		Input: a.int("input", 0), MaxOutput: a.int("output", 0), Deadline: a.time("deadline", 0),
		Attempts: a.int("attempts", 0), Session: a.values["session"], Prefix: a.values["prefix"],
	}
}

func (s *stage) chance(a args) uint32 {
	s.seed = uint32(a.int("seed", int64(s.seed)+1))
	return s.seed
}

func (s *stage) next(a args) string {
	name := a.word(1)
	if a.words[0] == "pick" {
		s.calls[name] = &running{call: s.router.Begin(s.now, a.word(2), s.request(a))}
	}
	r := s.calls[name]
	step := s.router.Next(s.now, s.chance(a), &r.call)
	switch step.Kind {
	case route.Wait:
		return name + " waits " + show(step.Until-s.now) + "\n"
	case route.Fail:
		return name + " fails: " + s.failure(step.Err) + "\n"
	}
	r.attempt, s.record = step.Attempt, s.router.Decision()
	if again, err := route.Replay(&s.record); err != nil || again != step.Endpoint.Name {
		return fmt.Sprintf("%s to %s, but replayed to %q: %v\n", name, step.Endpoint.Name, again, err)
	}
	if s.record.Bias != 0 && s.record.Tie != 0 {
		return name + " has a bias and a tie\n"
	}
	out := name + " to " + step.Endpoint.Name
	if step.Probe {
		out += " as a probe"
	}
	if a.is("limits") {
		l := step.Limits
		out += fmt.Sprintf(" connect %s first_token %s answer %s stall %s total %s", show(l.Connect), show(l.FirstToken), show(l.Answer), show(l.Stall), show(l.Total))
	}
	return out + "\n"
}

// spread picks so many times and tells how often each endpoint came. Every call is
// given back unsent, or held with "hold".
func (s *stage) spread(a args) string {
	counts := map[string]int{}
	s.seed = uint32(a.int("seed", int64(s.seed)+1)) - 1
	for range a.int("n", 1000) {
		c := s.router.Begin(s.now, a.word(1), s.request(a))
		s.seed++
		step := s.router.Next(s.now, s.seed, &c)
		if step.Kind != route.Send {
			counts["failed"]++
			continue
		}
		counts[step.Endpoint.Name]++
		if !a.is("hold") {
			s.router.Settle(s.now, step.Attempt, route.Outcome{Kind: route.Unsent})
		}
	}
	var names []string
	for name := range counts {
		names = append(names, name)
	}
	slices.Sort(names)
	out := ""
	for _, name := range names {
		out += fmt.Sprintf("%s %d\n", name, counts[name])
	}
	return out
}

func (s *stage) mark(a args) string {
	r := s.calls[a.word(1)]
	done := false
	switch a.words[0] {
	case "token":
		done = s.router.FirstToken(s.now, r.attempt)
	case "content":
		done = s.router.Content(s.now, r.attempt)
	case "abandon":
		done = s.router.Abandon(s.now, r.attempt)
	case "settle":
		done = s.router.Settle(s.now, r.attempt, outcome(a))
	}
	if !done {
		return a.word(1) + " is stale\n"
	}
	return ""
}
