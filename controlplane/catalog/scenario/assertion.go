package scenario

import (
	"slices"

	"github.com/pointsman/pointsman/controlplane/catalog"
	"github.com/pointsman/pointsman/controlplane/sim"
	"github.com/pointsman/pointsman/controlplane/sim/measure"
)

// assertions are what must come out. What they name must be there.
func (r *reader) assertions() {
	for _, text := range r.root.Listed("assert") {
		a, err := measure.ParseAssertion(text.Text)
		if err != nil {
			r.root.FailAt(text, "", "%v", err)
			continue
		}
		r.named(text, a)
		r.set.Assertions = append(r.set.Assertions, text.Text)
	}
}

func (r *reader) named(text catalog.Placed, a measure.Assertion) {
	known := map[string][]string{
		"policy":           names(r.set.Policies, func(p *sim.Policy) string { return p.Name }),
		measure.OfWorkload: r.workloadNames(), measure.OfTenant: r.tenantNames(), measure.OfEndpoint: r.endpointNames(),
	}
	want := func(kind, name string) {
		if !slices.Contains(known[kind], name) {
			r.root.FailAt(text, catalog.Meant(name, known[kind]), "there is no %s %s", kind, catalog.Quote(name))
		}
	}
	for _, name := range a.Policies() {
		want("policy", name)
	}
	for _, p := range a.Parts() {
		want(p.Kind, p.Name)
	}
}
