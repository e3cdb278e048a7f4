package catalog

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// ComposeError says why pins cannot be composed with a catalog.
type ComposeError struct {
	Changes  []*pb.Change  // from the catalog to what a pin wants, where another workload reaches it too
	Findings []*pb.Finding // or what is wrong with the whole
}

// Error names the first reason.
func (e *ComposeError) Error() string {
	switch {
	case len(e.Changes) > 0:
		c := e.Changes[0]
		return fmt.Sprintf("compose: %s %q: another workload reaches it, and the pinned revision has it otherwise: %s is %s there and %s here (%d differ in all)",
			kindName(c.Kind), c.Name, c.Attribute, quote(c.After), quote(c.Before), len(e.Changes))
	case len(e.Findings) > 0:
		return fmt.Sprintf("compose: %s (%d findings)", e.Findings[0].Summary, len(e.Findings))
	}
	return "compose: refused"
}

func refused(err error) *ComposeError {
	return &ComposeError{Findings: []*pb.Finding{{Severity: pb.Severity_SEVERITY_ERROR, Summary: err.Error()}}}
}

// Compose puts the pinned workloads, and all they reach, from their revisions over base. Tenants and
// credentials stay base's. It refuses what another workload reaches and the pinned revision has otherwise,
// and validates the whole. An error is a *ComposeError.
func Compose(base []*pb.Resource, pins map[string][]*pb.Resource) ([]*pb.Resource, error) {
	c, err := newComposition(base, pins)
	if err != nil {
		return nil, refused(err)
	}
	for _, name := range keys(pins) {
		c.pin(name)
	}
	if len(c.changes) > 0 {
		return nil, &ComposeError{Changes: c.changes}
	}
	for _, e := range c.set.endpoints {
		e.Identity = identity(e, c.set.providers[e.Provider], c.set.models[e.Model])
	}
	if findings := validate(c.set); len(findings) > 0 {
		return nil, &ComposeError{Findings: findings}
	}
	resources, err := c.set.resources()
	if err != nil {
		return nil, refused(err)
	}
	return resources, nil
}

type composition struct {
	set     *set              // base, with pins put over it
	pinned  map[string]*set   // by workload
	shared  map[wire.Key]bool // what base's other workloads and tools reach, and pins before
	changes []*pb.Change
}

func newComposition(base []*pb.Resource, pins map[string][]*pb.Resource) (*composition, error) {
	s, err := setOf(base)
	c := &composition{set: s, pinned: map[string]*set{}, shared: map[wire.Key]bool{}}
	errs := []error{err}
	for _, name := range keys(pins) {
		p, err := setOf(pins[name])
		if err == nil && p.workloads[name] == nil {
			err = fmt.Errorf("the revision that workload %q is pinned to has no such workload", name)
		}
		c.pinned[name] = p
		errs = append(errs, err)
	}
	for name, w := range s.workloads {
		if c.pinned[name] == nil {
			c.share(closure(s, w.Tiers, w))
		}
	}
	for _, t := range s.tools {
		c.share(closure(s, t.Tiers, nil))
	}
	return c, errors.Join(errs...)
}

func (c *composition) share(reached map[wire.Key]proto.Message) {
	for k := range reached {
		c.shared[k] = true
	}
}

// pin puts a workload and all it reaches into the set, unless others need something of it as it is.
func (c *composition) pin(name string) {
	p := c.pinned[name]
	w := p.workloads[name]
	reached := closure(p, w.Tiers, w)
	for _, k := range inKeyOrder(reached) {
		c.place(k, reached[k])
	}
	c.set.workloads[name] = w
	c.share(reached)
}

func (c *composition) place(k wire.Key, m proto.Message) {
	current := c.set.get(k)
	if e, ok := m.(*pb.Endpoint); ok && current != nil {
		e.Credential = current.(*pb.Endpoint).Credential
	}
	switch {
	case current == nil || !c.shared[k]:
		c.set.put(k.Name, m)
	case !proto.Equal(current, m):
		c.changes = append(c.changes, difference(k, current, m)...)
	}
}

func difference(k wire.Key, before, after proto.Message) []*pb.Change {
	b, errB := wire.Resource(k.Kind, k.Name, before)
	a, errA := wire.Resource(k.Kind, k.Name, after)
	if errors.Join(errB, errA) != nil {
		return []*pb.Change{changed(k, "", "", "")}
	}
	return change(k, b, a)
}

func inKeyOrder(m map[wire.Key]proto.Message) []wire.Key {
	return slices.SortedFunc(maps.Keys(m), compareKeys)
}

// closure is what a workload or tool reaches besides itself: its endpoints, their models, providers and
// quotas, and the models that its contract and bands name.
func closure(s *set, tiers []*pb.Tier, w *pb.Workload) map[wire.Key]proto.Message {
	c := map[wire.Key]proto.Message{}
	take := func(kind pb.Kind, names ...string) {
		for _, name := range names {
			k := wire.Key{Kind: kind, Name: name}
			if m := s.get(k); m != nil {
				c[k] = m
			}
		}
	}
	for _, t := range tiers {
		take(pb.Kind_KIND_ENDPOINT, t.Endpoints...)
		for _, name := range t.Endpoints {
			e := s.endpoints[name]
			take(pb.Kind_KIND_PROVIDER, e.GetProvider())
			take(pb.Kind_KIND_MODEL, e.GetModel())
			take(pb.Kind_KIND_QUOTA, e.GetQuotas()...)
		}
	}
	for _, e := range w.GetContract().GetEquivalents() {
		take(pb.Kind_KIND_MODEL, e.Models...)
	}
	for _, b := range w.GetBalance().GetBands() {
		take(pb.Kind_KIND_MODEL, b.Models...)
	}
	return c
}

// validate holds a set without sources against the rules; warnings are for who writes sources.
func validate(s *set) []*pb.Finding {
	r := newReport()
	g, err := gatesOf(s)
	if err != nil {
		r.fail("", "", "the libraries would refuse this catalog: %v", err)
		return r.sorted()
	}
	(&judgement{report: r, set: s, gates: g}).run()
	return slices.DeleteFunc(r.sorted(), func(f *pb.Finding) bool { return f.Severity != pb.Severity_SEVERITY_ERROR })
}
