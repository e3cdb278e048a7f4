package simulate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/controlplane/catalog/scenario"
	"github.com/pointsman/pointsman/controlplane/sim"
	"github.com/pointsman/pointsman/controlplane/sim/measure"
)

// Ask is what of a scenario is to be run, and what must come out.
type Ask struct {
	File       string
	Vars       []string // name=value
	Sweeps     []string // name=a,b,c: every one with every one of the others
	Policies   []string // none: all
	Seeds      int      // 0: as the scenario says
	Seed       uint64   // the first; 0: 1
	Parallel   int      // 0: as many as there are processors
	Assertions []string // beside the scenario's
}

// The bounds of Ask.
const (
	maxPoints = 100
	maxRuns   = 100_000
)

// Check returns every fault that is seen without the scenario.
func (a Ask) Check() error {
	var errs []error
	if a.Seeds < 0 || a.Seeds > 1000 {
		errs = append(errs, fmt.Errorf("-seeds %d: want 1 to 1000", a.Seeds))
	}
	if a.Parallel < 0 || a.Parallel > 1024 {
		errs = append(errs, fmt.Errorf("-parallel %d: want 1 to 1024", a.Parallel))
	}
	if _, err := a.sets(); err != nil {
		errs = append(errs, err)
	}
	for _, text := range a.Assertions {
		_, err := measure.ParseAssertion(text)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// sets are the values of the variables that are swept, of each point.
func (a Ask) sets() ([][]string, error) {
	sets := [][]string{nil}
	for _, sweep := range a.Sweeps {
		name, values, ok := strings.Cut(sweep, "=")
		if !ok || name == "" || values == "" {
			return nil, fmt.Errorf("-sweep %q: want name=value,value,…, as in load=0.6,0.9", sweep)
		}
		var next [][]string
		for _, set := range sets {
			for value := range strings.SplitSeq(values, ",") {
				next = append(next, append(slices.Clone(set), name+"="+strings.TrimSpace(value)))
			}
		}
		if sets = next; len(sets) > maxPoints {
			return nil, fmt.Errorf("-sweep: %d points or more, at most %d are run", len(sets), maxPoints)
		}
	}
	return sets, nil
}

// Prepared is an ask whose scenario has been read.
type Prepared struct {
	Plan       Plan
	Report     Report
	Assertions []measure.Assertion
	Skipped    []string // of the scenario's assertions: they are of policies that are not run
}

// Prepare reads the scenario, once for every point.
func (a Ask) Prepare() (*Prepared, error) {
	sets, err := a.sets()
	if err != nil {
		return nil, err
	}
	p := &Prepared{Plan: Plan{Workers: a.Parallel}}
	for i, set := range sets {
		s, err := scenario.Load(a.File, scenario.Options{Vars: slices.Concat(a.Vars, set)})
		if err != nil {
			return nil, err
		}
		if i == 0 {
			if err := p.begin(a, s); err != nil {
				return nil, err
			}
		}
		policies, err := choose(s.Policies, a.Policies)
		if err != nil {
			return nil, err
		}
		p.Plan.Points = append(p.Plan.Points, Point{Scenario: s.Scenario, Policies: policies, Variables: s.Variables})
	}
	if runs := len(p.Plan.Points) * len(p.Plan.Points[0].Policies) * len(p.Plan.Seeds); runs > maxRuns {
		return nil, fmt.Errorf("%d runs, at most %d are played: take fewer points, policies or seeds", runs, maxRuns)
	}
	return p, nil
}

// begin takes what is the same at all points.
func (p *Prepared) begin(a Ask, s *scenario.Set) error {
	p.Report = Report{File: a.File, Title: s.Title, Text: s.Text, Sweep: a.swept()}
	seeds := a.Seeds
	if seeds == 0 {
		seeds = max(s.Seeds, 1)
	}
	for i := range seeds {
		p.Plan.Seeds = append(p.Plan.Seeds, max(a.Seed, 1)+uint64(i))
	}
	policies, err := choose(s.Policies, a.Policies)
	if err != nil {
		return err
	}
	return p.assert(s.Assertions, a.Assertions, policies)
}

func (a Ask) swept() string {
	var names []string
	for _, sweep := range a.Sweeps {
		name, _, _ := strings.Cut(sweep, "=")
		names = append(names, name)
	}
	return strings.Join(names, ",")
}

// assert reads the scenario's assertions, and those asked for, which must be of policies that
// are run.
func (p *Prepared) assert(own, asked []string, run []sim.Policy) error {
	for i, text := range slices.Concat(own, asked) {
		assertion, err := measure.ParseAssertion(text)
		if err != nil {
			return err
		}
		missing := slices.IndexFunc(assertion.Policies(), func(name string) bool { return !slices.Contains(names(run), name) })
		switch {
		case missing < 0:
			p.Assertions = append(p.Assertions, assertion)
		case i < len(own):
			p.Skipped = append(p.Skipped, text)
		default:
			return fmt.Errorf("assertion %q: %w", text, measure.Unknown("policy", assertion.Policies()[missing], names(run)))
		}
	}
	return nil
}

// choose takes some of the policies, in the order of the scenario.
func choose(all []sim.Policy, wanted []string) ([]sim.Policy, error) {
	if len(wanted) == 0 {
		return all, nil
	}
	for _, name := range wanted {
		if !slices.Contains(names(all), name) {
			return nil, measure.Unknown("policy", name, names(all))
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(p sim.Policy) bool { return !slices.Contains(wanted, p.Name) }), nil
}

func names(policies []sim.Policy) (all []string) {
	for _, p := range policies {
		all = append(all, p.Name)
	}
	return all
}
