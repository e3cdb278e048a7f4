package scenario

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/controlplane/sim"
	"github.com/pointsman/pointsman/controlplane/sim/measure"
	"github.com/pointsman/pointsman/controlplane/sim/rival"
)

const examples = "../../../deploy/examples/scenarios"

func exampleFiles(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(examples, "*.hcl"))
	if err != nil || len(list) < 15 {
		t.Fatalf("%d examples: %v", len(list), err)
	}
	return list
}

func load(t *testing.T, path string, vars ...string) *Set {
	t.Helper()
	s, err := Load(path, Options{Vars: vars})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEveryExamplePlaysAFewSeconds(t *testing.T) {
	for _, path := range exampleFiles(t) {
		t.Run(nameOf(path), func(t *testing.T) {
			t.Parallel()
			s := load(t, path, "minute=1", "seeds=1")
			if s.Title == "" || s.Text == "" || len(s.Assertions) == 0 {
				t.Error("an example has a title, says what it asks, and asserts something")
			}
			s.Scenario.Warmup, s.Scenario.Duration = 0, 3_000_000
			for _, p := range []sim.Policy{s.Policies[0], s.Policies[len(s.Policies)-1]} {
				r, err := sim.Play(s.Scenario, p, 1, nil)
				if err != nil {
					t.Fatalf("%s: %v", p.Name, err)
				}
				if r.All.Served == 0 && s.Rates["chat"] != 0.5 {
					t.Errorf("%s served none of %d calls", p.Name, r.All.Calls)
				}
			}
		})
	}
}

// lenient are the examples in which a bad policy does no harm that their assertions name.
var lenient = []string{"small", "minute-429"}

// The runs are short, and of the policies that assertions name: as CI has them.
func TestAssertionsOfExamplesHoldAndFailABadPolicy(t *testing.T) {
	if testing.Short() || raced {
		t.Skip("plays some hundred thousand calls")
	}
	for _, path := range exampleFiles(t) {
		name := nameOf(path)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := load(t, path, "minute=10", "seeds=1")
			good := play(t, s, func(p sim.Policy) sim.Policy { return p })
			for _, why := range failing(t, s, good) {
				t.Error(why)
			}
			bad := play(t, s, spoilt(t))
			if len(failing(t, s, bad)) == 0 && !slices.Contains(lenient, name) {
				t.Error("the minimum of the state pushed last passes all assertions")
			}
		})
	}
}

// spoilt has the minimum choose in the place of our strategies.
func spoilt(t *testing.T) func(sim.Policy) sim.Policy {
	start, err := rival.New("minimum", nil)
	if err != nil {
		t.Fatal(err)
	}
	return func(p sim.Policy) sim.Policy {
		if p.Rival == nil {
			p.Rival = start
		}
		return p
	}
}

func play(t *testing.T, s *Set, with func(sim.Policy) sim.Policy) (all []*measure.Result) {
	t.Helper()
	named := map[string]bool{}
	for _, text := range s.Assertions {
		for _, name := range parsed(t, text).Policies() {
			named[name] = true
		}
	}
	for _, p := range s.Policies {
		if !named[p.Name] {
			continue
		}
		r, err := sim.Play(s.Scenario, with(p), 1, nil)
		if err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		all = append(all, r)
	}
	return all
}

func parsed(t *testing.T, text string) measure.Assertion {
	t.Helper()
	a, err := measure.ParseAssertion(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func failing(t *testing.T, s *Set, results []*measure.Result) (all []string) {
	t.Helper()
	for _, text := range s.Assertions {
		if ok, found := parsed(t, text).Check(results); !ok {
			all = append(all, text+": "+strings.TrimSpace(found))
		}
	}
	return all
}
