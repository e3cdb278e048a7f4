package sim

import (
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/controlplane/fleet"
	"github.com/pointsman/pointsman/controlplane/sim/measure"
	"github.com/pointsman/pointsman/controlplane/sim/server"
)

const (
	term    = 1
	sayPace = 50 * ms // between two states, unless a breaker opens (controlplane/judge.go)
)

// plane is the control plane: one leader that judges, and what it says.
type plane struct {
	fleet      *fleet.Fleet
	rows       []route.FleetEndpoint // by place; without a name: nothing is known
	retries    []route.FleetWorkload // by name
	changed    []bool                // by place, since the last state
	order      []int32               // of those
	dirty      bool
	said       int64
	state      *state // the newest; nil: none was said
	localities []string
	bases      []*route.Snapshot // by locality: the latest
	mail       mail
}

// state is what the leader said at one time. It does not change but for its snapshots, which
// are compiled when the first client of a locality gets it.
type state struct {
	version   uint64
	fleet     *route.Fleet
	snapshots []*route.Snapshot
	held      [][]string // endpoints that are held, by locality
}

func (p *plane) begin(w *world) error {
	p.changed, p.rows = make([]bool, len(w.names)), make([]route.FleetEndpoint, len(w.names))
	p.localities = []string{""}
	if len(w.Fleet.Localities) > 0 {
		p.localities = slices.Compact(slices.Sorted(slices.Values(w.Fleet.Localities)))
	}
	p.fleet = fleet.New(fleet.Config{Term: term})
	p.fleet.Apply(0, w.catalog)
	for _, name := range p.localities {
		s, err := route.Compile(nil, w.catalog, nil, route.Local{Locality: name, Wall: w.Wall})
		if err != nil {
			return err
		}
		p.bases = append(p.bases, s)
	}
	w.agenda.set(ofPlane, 0, 1)
	return nil
}

func (p *plane) localityOf(name string) int { return slices.Index(p.localities, name) }

// away tells whether the control plane is gone.
func (w *world) away() bool { return w.upset(server.Away) != nil }

// upset is the fault of the control plane that holds now, or nil.
func (w *world) upset(k server.FaultKind) *Fault {
	for i := range w.Faults {
		if f := &w.Faults[i]; f.Kind == k && w.now >= f.From && w.now < f.To {
			return f
		}
	}
	return nil
}

// hear judges a report.
func (w *world) hear(r route.Report) {
	w.plane.fleet.Observe(w.now, r)
	w.settle()
}

// settle is the leader's: what came of news and of time.
func (w *world) settle() {
	p := &w.plane
	if f := w.upset(server.Away); f != nil {
		w.agenda.set(ofPlane, 0, f.To)
		return
	}
	next := p.fleet.Tick(w.now)
	for _, e := range p.fleet.Events() {
		w.recount(&e)
	}
	for _, g := range p.fleet.Grants() {
		w.hand(g)
	}
	for _, r := range p.fleet.Retries() {
		p.retry(r)
	}
	names, urgent := p.fleet.Changed()
	for _, name := range names {
		if place := w.places[name]; !p.changed[place] {
			p.changed[place] = true
			p.order = append(p.order, place)
		}
	}
	p.dirty = p.dirty || len(names) > 0
	w.agenda.set(ofPlane, 0, max(next, w.now+1))
	if urgent {
		w.say()
		for i := range w.clients {
			w.offer(&w.clients[i])
		}
	}
}

var turns = map[fleet.Kind]string{fleet.Opened: "opened", fleet.HalfOpened: "half_opened", fleet.Ramping: "ramping", fleet.Closed: "closed"}

// recount notes a turn of the fleet's breakers.
func (w *world) recount(e *fleet.Event) {
	if name, ok := turns[e.Kind]; ok {
		w.recorder.Turn(measure.Turn{At: e.At, Endpoint: e.Endpoint, Kind: name, Client: -1, Evidence: e.Evidence})
	}
}

// hand sends a permit to its leaf.
func (w *world) hand(g fleet.Grant) {
	for i := range w.clients {
		if c := &w.clients[i]; c.name == g.Leaf {
			m := w.plane.mail.take()
			m.permit = g.Permit
			w.post(m, c, letterGrant)
			return
		}
	}
}

// retry takes a workload's factor.
func (p *plane) retry(r route.FleetWorkload) {
	p.dirty = true
	i := slices.IndexFunc(p.retries, func(o route.FleetWorkload) bool { return o.Name == r.Name })
	switch {
	case r.RetryFactor == 1 && i >= 0:
		p.retries = slices.Delete(slices.Clone(p.retries), i, i+1)
	case r.RetryFactor == 1:
	case i >= 0:
		p.retries = slices.Clone(p.retries) // states share it
		p.retries[i] = r
	default:
		p.retries = append(slices.Clip(p.retries), r)
	}
}

// push is a client's turn to hear the newest state.
func (w *world) push(c *client) {
	w.agenda.set(ofPush, c.number, w.now+w.pushEvery())
	if w.away() {
		return
	}
	if p := &w.plane; p.dirty && (p.state == nil || w.now >= p.said+sayPace) {
		w.say()
	}
	w.offer(c)
}

// offer sends the newest state, unless it was sent.
func (w *world) offer(c *client) {
	s := w.plane.state
	if s == nil || s.version <= c.offered || c.delays.part() < w.Fleet.Lost {
		return
	}
	if f := w.upset(server.Stale); f != nil && (f.Part == 0 || c.delays.part() < f.Part) {
		return
	}
	c.offered = s.version
	m := w.plane.mail.take()
	m.state = s
	w.post(m, c, letterState)
}

// say makes a new state of the rows that changed and those that did not.
func (w *world) say() {
	p := &w.plane
	for _, place := range p.order {
		p.changed[place] = false
		p.rows[place], _ = p.fleet.Row(w.now, w.names[place])
	}
	s := &state{version: 1, snapshots: make([]*route.Snapshot, len(p.localities)), held: make([][]string, len(p.localities))}
	if p.state != nil {
		s.version = p.state.version + 1
	}
	s.fleet = &route.Fleet{
		Version:   route.FleetVersion{Epoch: w.catalog.Version.Epoch, Term: term, Sequence: s.version},
		Endpoints: make([]route.FleetEndpoint, 0, len(p.rows)), Workloads: p.retries,
	}
	for i := range p.rows {
		if row := &p.rows[i]; row.Name != "" {
			s.fleet.Endpoints = append(s.fleet.Endpoints, *row)
			p.hold(s, row)
		}
	}
	p.order, p.dirty, p.said, p.state = p.order[:0], false, w.now, s
}

// hold notes for whom a row's endpoint is out.
func (p *plane) hold(s *state, row *route.FleetEndpoint) {
	for i := range row.Breakers {
		b := &row.Breakers[i]
		if b.State != route.FleetOpen && b.State != route.FleetHalfOpen {
			continue
		}
		for k, name := range p.localities {
			if b.Locality == "" || b.Locality == name {
				s.held[k] = append(s.held[k], row.Name)
			}
		}
	}
}

// snapshot is a state compiled for a locality, once.
func (p *plane) snapshot(w *world, s *state, locality int) *route.Snapshot {
	if s.snapshots[locality] == nil {
		prev := p.bases[locality]
		made, err := route.Compile(prev, w.catalog, s.fleet, route.Local{Locality: p.localities[locality], Wall: w.Wall})
		if err != nil {
			w.err = err
			return nil
		}
		s.snapshots[locality], p.bases[locality] = made, made
	}
	return s.snapshots[locality]
}
