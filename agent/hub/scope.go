package hub

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// scope is what a child can report of: what is in its views, as known here. What it says of
// anything else is not passed up (protocol.md, Report).
type scope struct {
	all    bool          // its catalog comes from elsewhere: who judges checks
	states []*wire.State // of its views' catalogs
}

// scope is the child's now. A view without a state yet has nothing in it.
func (h *Hub) scope(c *child) scope {
	h.mu.Lock()
	defer h.mu.Unlock()
	var s scope
	for _, sub := range c.views {
		s.all = s.all || sub.view.FleetOnly
		if t := sub.view.track(pb.Track_TRACK_CATALOG); t != nil && t.state != nil && !slices.Contains(s.states, t.state) {
			s.states = append(s.states, t.state)
		}
	}
	return s
}

func (s scope) has(kind pb.Kind, name string) bool {
	return s.all || slices.ContainsFunc(s.states, func(state *wire.State) bool {
		_, ok := state.Lookup(wire.Key{Kind: kind, Name: name})
		return ok
	})
}

// endpoint says whether an endpoint is in a view. An instance is when its endpoint is.
func (s scope) endpoint(name string) bool {
	if s.has(pb.Kind_KIND_ENDPOINT, name) {
		return true
	}
	whole, _, instance := strings.Cut(name, "@")
	return instance && s.has(pb.Kind_KIND_ENDPOINT, whole)
}

// row says whether a row is about what is in a view.
func (s scope) row(r *pb.Row) bool {
	return (r.GetEndpoint() == wire.Other || s.endpoint(r.GetEndpoint())) &&
		(r.GetWorkload() == "" || s.has(pb.Kind_KIND_WORKLOAD, r.GetWorkload()))
}

// screen takes out of a report what is not in any view of its child.
func (h *Hub) screen(c *child, m *pb.Report) {
	s := h.scope(c)
	var out cutting
	for _, r := range m.Leaves {
		out.leaf(s, r)
	}
	for _, n := range m.Nodes {
		n.Engines = keep(&out, n.Engines, func(e *pb.EngineLoad) (string, bool) { return e.GetEndpoint(), s.endpoint(e.GetEndpoint()) })
		n.Reaches = keep(&out, n.Reaches, func(r *pb.Reach) (string, bool) { return r.GetEndpoint(), s.endpoint(r.GetEndpoint()) })
	}
	if out.count == 0 {
		return
	}
	h.mu.Lock()
	defer h.unlock()
	h.drop(fmt.Errorf("%q reports %d times of what is not in its view, the last: %.64q", c.name, out.count, out.last))
}

// cutting counts what was taken out.
type cutting struct {
	count int
	last  string
}

func (x *cutting) leaf(s scope, r *pb.LeafReport) {
	r.Rows = keep(x, r.Rows, func(row *pb.Row) (string, bool) { return row.GetEndpoint(), s.row(row) })
	r.Votes = keep(x, r.Votes, func(v *pb.Vote) (string, bool) { return v.GetEndpoint(), s.endpoint(v.GetEndpoint()) })
	r.Probes = keep(x, r.Probes, func(p *pb.ProbeResult) (string, bool) { return p.GetEndpoint(), s.endpoint(p.GetEndpoint()) })
	r.Sheds = keep(x, r.Sheds, func(d *pb.Shed) (string, bool) { return d.GetWorkload(), s.has(pb.Kind_KIND_WORKLOAD, d.GetWorkload()) })
	r.Spent = keep(x, r.Spent, func(q *pb.Spent) (string, bool) { return q.GetQuota(), s.has(pb.Kind_KIND_QUOTA, q.GetQuota()) })
}

// keep keeps what is in a view.
func keep[T any](x *cutting, all []T, known func(T) (name string, ok bool)) []T {
	return slices.DeleteFunc(all, func(one T) bool {
		name, ok := known(one)
		if !ok {
			x.count++
			x.last = name
		}
		return !ok
	})
}
