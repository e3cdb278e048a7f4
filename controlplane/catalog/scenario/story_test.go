package scenario

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/controlplane/sim"
	"github.com/pointsman/pointsman/controlplane/sim/server"
	"github.com/pointsman/pointsman/controlplane/sim/traffic"
	"github.com/pointsman/pointsman/test/story"
)

// A question is a command, in its first line, and what stands in the scenario. The command base
// gives what the questions after it add to, errors what is wrong with it, show a part of what it
// means. Words like load=0.9 are variables.
func TestStories(t *testing.T) {
	story.Run(t, "testdata/*.story", func(t *testing.T) func(string) string {
		catalogs, err := filepath.Abs("testdata")
		if err != nil {
			t.Fatal(err)
		}
		s := &stage{path: filepath.Join(t.TempDir(), "a.hcl"), catalogs: catalogs}
		return func(question string) string {
			command, input, _ := strings.Cut(question, "\n")
			return s.run(strings.Fields(command), input)
		}
	})
}

type stage struct{ path, catalogs, base string }

func (s *stage) run(command []string, input string) string {
	var vars, words []string
	for _, w := range command[1:] {
		if strings.Contains(w, "=") {
			vars = append(vars, w)
		} else {
			words = append(words, w)
		}
	}
	if command[0] == "base" {
		s.base = input
		return ""
	}
	set, err := s.load(input, vars)
	switch {
	case err != nil:
		return s.short(err)
	case command[0] == "errors":
		return "none\n"
	}
	return show(set, words)
}

func (s *stage) load(input string, vars []string) (*Set, error) {
	text := strings.ReplaceAll(input+s.base, "CATALOGS", s.catalogs)
	if err := os.WriteFile(s.path, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return Load(s.path, Options{Vars: vars})
}

func (s *stage) short(err error) string {
	text := strings.ReplaceAll(err.Error(), s.path, "a.hcl")
	text = strings.ReplaceAll(text, filepath.Dir(s.path)+"/", "")
	text = strings.ReplaceAll(text, s.catalogs, "CATALOGS")
	if findings := (*Error)(nil); !errors.As(err, &findings) {
		text = "no finding: " + text
	}
	return text + "\n"
}

func show(set *Set, words []string) string {
	var b strings.Builder
	s := set.Scenario
	switch words[0] {
	case "times":
		fmt.Fprintf(&b, "wall %d warmup %d duration %d bins %d seeds %d\n", s.Wall, s.Warmup, s.Duration, s.Bins, set.Seeds)
	case "rates":
		for _, name := range slices.Sorted(maps.Keys(set.Rates)) {
			fmt.Fprintf(&b, "%s %.3f\n", name, set.Rates[name])
		}
	case "servers":
		for _, name := range slices.Sorted(maps.Keys(s.Servers)) {
			fmt.Fprintf(&b, "%s %s\n", name, serverStory(s.Servers[name]))
		}
	case "fleet":
		fmt.Fprintf(&b, "%+v\n%+v\n", s.Fleet, s.Callers)
	case "faults":
		for _, f := range s.Faults {
			fmt.Fprintf(&b, "%s: %v %+v\n", f.Name, f.Endpoints, f.Fault)
		}
	case "variables":
		for _, name := range slices.Sorted(maps.Keys(set.Variables)) {
			fmt.Fprintf(&b, "%s = %s\n", name, set.Variables[name])
		}
	case "assertions":
		fmt.Fprintln(&b, strings.Join(set.Assertions, "\n"))
	case "policies":
		for _, p := range set.Policies {
			fmt.Fprintf(&b, "%s rival=%t\n", p.Name, p.Rival != nil)
		}
	case "policy":
		policyStory(&b, set, words[1])
	case "arrivals":
		arrivals(&b, set)
	}
	return b.String()
}

func serverStory(m server.Model) string {
	if m.Own != nil {
		return fmt.Sprintf("own %+v quality %+v", *m.Own, m.Quality)
	}
	hosted, rows := *m.Hosted, m.Hosted.Latency.Rows
	hosted.Latency = nil
	return fmt.Sprintf("hosted %+v latency %v quality %+v", hosted, rows, m.Quality)
}

// policyStory tells what a policy makes of the catalog.
func policyStory(b *strings.Builder, set *Set, name string) {
	i := slices.IndexFunc(set.Policies, func(p policyOf) bool { return p.Name == name })
	c := *set.Scenario.Catalog
	c.Endpoints, c.Workloads = slices.Clone(c.Endpoints), slices.Clone(c.Workloads)
	if edit := set.Policies[i].Edit; edit != nil {
		edit(&c)
	}
	for _, e := range c.Endpoints {
		fmt.Fprintf(b, "%s weight %d breaker %d/%d/%g\n", e.Name, e.Weight, e.Breaker.MinSamples, e.Breaker.Consecutive, e.Breaker.FailureRatio)
	}
	for _, w := range c.Workloads {
		fmt.Fprintf(b, "%s %s money %d affinity %+v attempts %d bands %+v %t\n", w.Name, w.Strategy, w.MoneyPerMS, w.Affinity, w.Attempts.Max, w.Bands, w.PreferQuality)
	}
	if _, err := route.Compile(nil, &c, nil, route.Local{}); err != nil {
		fmt.Fprintln(b, err)
	}
}

type policyOf = sim.Policy

// arrivals are the first few of a run.
func arrivals(b *strings.Builder, set *Set) {
	src, err := set.Scenario.Traffic(1)
	if err != nil {
		fmt.Fprintln(b, err)
		return
	}
	for range 4 {
		var a traffic.Arrival
		if ok, err := src.Next(&a); !ok {
			fmt.Fprintln(b, "end", err)
			return
		}
		fmt.Fprintf(b, "%s tenant=%q needs=%v stream=%t max=%d deadline=%d input>0=%t\n", a.Workload, a.Tenant, a.Needs, a.Stream, a.MaxOutput, a.Deadline, a.Input > 0)
	}
}
