package route_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib/route"
)

var rewrite = flag.Bool("rewrite", false, "write the answers that the stories got")

const vectors = "../../test/vectors/"

// The format is in test/vectors/README.md.
func TestStories(t *testing.T) {
	files, err := filepath.Glob(vectors + "stories/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("stories: %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { tell(t, file) })
	}
}

func tell(t *testing.T, file string) {
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := newStory()
	var got strings.Builder
	for i, block := range strings.Split(strings.TrimSpace(string(src)), "\n\n") {
		if i > 0 {
			got.WriteString("\n")
		}
		commands, _, asks := strings.Cut(block+"\n", "----\n")
		got.WriteString(commands)
		var answer strings.Builder
		for line := range strings.Lines(commands) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				answer.WriteString(s.run(line))
			}
		}
		if asks {
			got.WriteString("----\n" + answer.String())
		} else if answer.Len() > 0 {
			t.Errorf("%s: block %d answers %q, and nothing asks", file, i, answer.String())
		}
	}
	if *rewrite {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(src), got.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// story is one router and what was declared so far.
type story struct {
	now      int64
	seed     uint32
	catalog  route.Catalog
	fleet    route.Fleet
	local    route.Local
	unusable map[string]route.Reason
	snapshot *route.Snapshot
	router   *route.Router
	calls    map[string]*running
}

type running struct {
	call    route.Call
	attempt route.Attempt
}

func newStory() *story {
	s := &story{now: 1_000_000, router: route.NewRouter(), calls: map[string]*running{}, unusable: map[string]route.Reason{}}
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
func (s *story) run(line string) string {
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

func (s *story) apply() string {
	c := s.catalog // a copy: a snapshot's catalog never changes
	c.Endpoints, c.Workloads = slices.Clone(c.Endpoints), slices.Clone(c.Workloads)
	c.Tenants, c.Overrides = slices.Clone(c.Tenants), slices.Clone(c.Overrides)
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

func (s *story) request(a args) route.Request {
	return route.Request{
		Tenant: a.values["tenant"], API: a.values["api"], Needs: a.list("needs"), Stream: a.is("stream"),
		Input: a.int("input", 0), MaxOutput: a.int("output", 0), Deadline: a.time("deadline", 0),
	}
}

func (s *story) chance(a args) uint32 {
	s.seed = uint32(a.int("seed", int64(s.seed)+1))
	return s.seed
}

func (s *story) next(a args) string {
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
	r.attempt = step.Attempt
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
// abandoned at once, or held with "hold".
func (s *story) spread(a args) string {
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
			s.router.Abandon(s.now, step.Attempt)
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

func (s *story) mark(a args) string {
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
