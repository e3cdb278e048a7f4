package scenario

import (
	"maps"
	"math"
	"regexp"
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/controlplane/catalog"
	"github.com/pointsman/pointsman/controlplane/sim"
	"github.com/pointsman/pointsman/controlplane/sim/rival"
)

var nameShape = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// policy is one policy while it is read: who chooses, and what it changes of the catalog.
type policy struct {
	*reader
	*catalog.Block
	only  []string // the workloads that it changes; none: all
	edits []func(*route.Catalog)
}

// policies are who chooses, one after the other: our own strategies, or rivals in their place.
func (r *reader) policies() {
	for _, b := range r.root.All("policies", 0) {
		p := &policy{reader: r, Block: b}
		p.several()
		b.Close()
	}
	for _, b := range r.root.All("policy", 1) {
		p := &policy{reader: r, Block: b}
		p.one()
		b.Close()
	}
	switch n := len(r.set.Policies); {
	case n == 0 && !r.doc.Failed():
		r.root.Fail(`add policies { strategies = ["…"]  rivals = ["…"] }, or policy "…" { … }`, "a scenario without a policy")
	case n > maxPolicies:
		r.root.Fail("", "%d policies; %d at most", n, maxPolicies)
	}
}

// several are strategies and rivals with nothing set of each, named after themselves: rivals that
// are called as one of our strategies with rival_ before it.
func (p *policy) several() {
	var suffix string
	p.Text("suffix", &suffix)
	p.common()
	all := strategies()
	for _, name := range p.Listed("strategies") {
		s, ok := all[name.Text]
		if !ok {
			p.FailAt(name, catalog.Meant(name.Text, slices.Sorted(maps.Keys(all))), "there is no strategy %s", catalog.Quote(name.Text))
			continue
		}
		one := *p
		one.edits = slices.Clone(p.edits)
		one.eachWorkload(func(w *route.Workload) { w.Strategy = s })
		one.add(name.Text+suffix, nil)
	}
	for _, name := range p.Listed("rivals") {
		start, err := rival.New(name.Text, nil)
		if err != nil {
			p.FailAt(name, catalog.Meant(name.Text, rival.Names()), "there is no rival %s", catalog.Quote(name.Text))
			continue
		}
		called := name.Text
		if _, ours := all[called]; ours {
			called = "rival_" + called
		}
		p.add(called+suffix, start)
	}
}

// one is a policy with all that may be set of it.
func (p *policy) one() {
	p.common()
	if p.Has("rival") {
		p.add(p.Name(), p.rival())
		return
	}
	p.ours() // the catalog's own, if nothing is said
	p.add(p.Name(), nil)
}

// common reads what may be changed of the catalog, whoever chooses.
func (p *policy) common() {
	for _, w := range p.Listed("workloads") {
		if known := p.workloadNames(); !slices.Contains(known, w.Text) {
			p.FailAt(w, catalog.Meant(w.Text, known), "no traffic asks for workload %s", catalog.Quote(w.Text))
		}
		p.only = append(p.only, w.Text)
	}
	p.breaker()
	p.shares()
	p.weights()
	p.attempts()
}

func (p *policy) add(name string, start func(*sim.View) sim.Rival) {
	switch {
	case !nameShape.MatchString(name):
		p.Fail("a letter, then letters, digits, _ and -, 64 at most: assertions name it", "%s is no name for a policy", catalog.Quote(name))
	case slices.ContainsFunc(p.set.Policies, func(o sim.Policy) bool { return o.Name == name }):
		p.Fail("give it another name, or the others a suffix", "policy %s is there twice", catalog.Quote(name))
	}
	out := sim.Policy{Name: name, Rival: start}
	if len(p.edits) > 0 {
		out.Edit = p.edit
	}
	p.usable()
	p.set.Policies = append(p.set.Policies, out)
}

func (p *policy) edit(c *route.Catalog) {
	for _, e := range p.edits {
		e(c)
	}
}

// usable has the library compile what the policy makes of the catalog.
func (p *policy) usable() {
	if p.doc.Failed() {
		return
	}
	c := *p.catalog
	c.Endpoints, c.Workloads = slices.Clone(c.Endpoints), slices.Clone(c.Workloads)
	p.edit(&c)
	if _, err := route.Compile(nil, &c, nil, route.Local{}); err != nil {
		p.Fail("", "the catalog as the policy changes it cannot be used: %v", err)
	}
}

// rival reads one by its name; what else may be set is its own.
func (p *policy) rival() func(*sim.View) sim.Rival {
	var name string
	if p.Has("strategy") {
		p.Fail("take one of them", "both strategy and rival")
		p.Text("strategy", new(string))
	}
	if !p.Choice("rival", rival.Names(), &name) {
		for _, known := range rival.Names() { // what is set may be right
			p.settings(known)
		}
		return nil
	}
	start, err := rival.New(name, p.settings(name))
	if err != nil {
		p.Fail("", "%v", err)
	}
	return start
}

func (p *policy) settings(name string) map[string]float64 {
	settings := map[string]float64{}
	for _, s := range rival.Settings(name) {
		var v float64
		if p.Number(s, -math.MaxFloat64, math.MaxFloat64, &v) {
			settings[s] = v
		}
	}
	return settings
}

// strategies are those that the library can run, by name.
func strategies() map[string]route.Strategy {
	all := map[string]route.Strategy{}
	for s := route.P2C; s.String() != "unknown"; s++ {
		all[s.String()] = s
	}
	return all
}

// ours reads what is a strategy's.
func (p *policy) ours() {
	var name string
	all := strategies()
	if p.Choice("strategy", slices.Sorted(maps.Keys(all)), &name) {
		p.eachWorkload(func(w *route.Workload) { w.Strategy = all[name] })
	}
	p.bands()
	p.money()
	p.affinity()
}

func (p *policy) eachWorkload(change func(*route.Workload)) {
	p.edits = append(p.edits, func(c *route.Catalog) {
		for i := range c.Workloads {
			if w := &c.Workloads[i]; len(p.only) == 0 || slices.Contains(p.only, w.Name) {
				change(w)
			}
		}
	})
}

func (p *policy) eachEndpoint(change func(*route.Endpoint)) {
	p.edits = append(p.edits, func(c *route.Catalog) {
		for i := range c.Endpoints {
			change(&c.Endpoints[i])
		}
	})
}
