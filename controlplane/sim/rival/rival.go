// Package rival is what other balancers do, as well as it can be done, and what perfect
// knowledge would do: to compare our strategies with. Each rule says where it is from and what
// it may know. It decides which of the eligible endpoints a rival would ask; never who is
// eligible: gates, breakers and retries are the same for all. sim.Play calls it.
package rival

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/controlplane/sim"
)

// rule is one rival: what may be set of it, with defaults, and how it begins.
type rule struct {
	name     string
	settings []setting
	start    func(v *sim.View, is map[string]float64) sim.Rival
}

// setting is one number of a rule, both limits included.
type setting struct {
	name            string
	is, least, most float64
}

var rules = []rule{
	{"round_robin", nil, startRotation},
	{"wrr", nil, startTrue},
	{"wrr_wrong", nil, startWrong},
	{"least_loaded", []setting{{"speeds", 0, 0, 1}}, startLeast},
	{"p2c_local", []setting{{"speeds", 0, 0, 1}}, startTwo},
	{"peak_ewma", []setting{{"decay", 120, 0.001, 3600}}, startPeak},
	{"prequal", prequalSettings, startPrequal},
	{"prequal_paper", published(), startPrequal},
	{"prequal_sync", syncSettings, startSync},
	{"jsq2", []setting{{"speeds", 0, 0, 1}, {"draws", 2, 1, 1000}}, startFresh},
	{"jsq", []setting{{"speeds", 0, 0, 1}, {"draws", 1000, 1, 1000}}, startFresh},
	{"minimum", nil, startMinimum},
	{"clairvoyant", nil, startFirst},
	{"clairvoyant_total", nil, startTotal},
	{"jsed", nil, startDelay},
}

// Names are those of all rivals, oracles last.
func Names() []string {
	out := make([]string, len(rules))
	for i, r := range rules {
		out[i] = r.name
	}
	return out
}

// Oracles are the names of those that know what nobody can: of each figure, the page compares
// with the best of theirs.
func Oracles() []string { return []string{"clairvoyant", "clairvoyant_total", "jsed"} }

// Settings are what can be set of a rival.
func Settings(name string) []string {
	i := slices.IndexFunc(rules, func(r rule) bool { return r.name == name })
	if i < 0 {
		return nil
	}
	out := make([]string, len(rules[i].settings))
	for k, s := range rules[i].settings {
		out[k] = s.name
	}
	return out
}

// New is a rival by name. What is not set has the value that served it best.
func New(name string, settings map[string]float64) (func(*sim.View) sim.Rival, error) {
	i := slices.IndexFunc(rules, func(r rule) bool { return r.name == name })
	if i < 0 {
		return nil, fmt.Errorf("rival %q is not known: take one of %s", name, strings.Join(Names(), ", "))
	}
	is, err := rules[i].resolve(settings)
	if err != nil {
		return nil, err
	}
	return func(v *sim.View) sim.Rival { return rules[i].start(v, is) }, nil
}

// resolve puts defaults where nothing is set, and refuses what a rule does not know.
func (r rule) resolve(given map[string]float64) (map[string]float64, error) {
	is := make(map[string]float64, len(r.settings))
	for _, s := range r.settings {
		is[s.name] = s.is
		v, set := given[s.name]
		if !set {
			continue
		}
		if !(v >= s.least && v <= s.most) { // NaN too
			return nil, fmt.Errorf("rival %q: %s = %g: give %g to %g", r.name, s.name, v, s.least, s.most)
		}
		is[s.name] = v
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, known := is[name]; !known {
			return nil, fmt.Errorf("rival %q has no setting %q: it has %s", r.name, name, r.list())
		}
	}
	return is, nil
}

func (r rule) list() string {
	if len(r.settings) == 0 {
		return "none"
	}
	return strings.Join(Settings(r.name), ", ")
}
