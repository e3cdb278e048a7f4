package convergence

import (
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/controlplane/fleet"
)

// The hub's and the judge's pace (protocol.md, rule 11; agent/hub, controlplane).
const (
	replicas    = 3
	urgentPause = 25 * ms
	urgentGap   = 250 * ms
	routineGap  = second
	sayPace     = 50 * ms
	quietPace   = 50 * ms
	mostPace    = 250 * ms
)

// tree is the leader, the replicas' hubs under it (its own is the first), and their delays.
type tree struct {
	*world
	fleet   *fleet.Fleet
	hubs    []*hub
	told    []fleet.Event
	dirty   bool
	urgent  bool
	said    int64
	version uint64
	due     uint64
	base    map[string]*route.Snapshot // by locality
}

// overlay is one state of the fleet, as leaves apply it.
type overlay struct {
	version   uint64
	urgent    bool
	snapshots map[string]*route.Snapshot // by locality
	held      map[string][]string        // endpoints that are out, by locality
}

func newTree(w *world) *tree {
	x := &tree{world: w, fleet: fleet.New(fleet.Config{Term: 1}), base: map[string]*route.Snapshot{}}
	x.fleet.Apply(w.now, w.catalog)
	for i := range replicas {
		x.hubs = append(x.hubs, &hub{tree: x, own: i == 0})
	}
	x.settle()
	return x
}

// hop is a message's way over one connection.
func (x *tree) hop() int64 { return x.within(1*ms, 20*ms) }

func (x *tree) snapshot(f *route.Fleet, locality string) *route.Snapshot {
	s, err := route.Compile(x.base[locality], x.catalog, f, route.Local{Locality: locality})
	if err != nil {
		x.Fatal(err)
	}
	x.base[locality] = s
	return s
}

// hear judges reports.
func (x *tree) hear(rs []route.Report) {
	for _, r := range rs {
		x.fleet.Observe(x.now, r)
	}
	x.settle()
}

// settle is the leader's: what came of news and of time.
func (x *tree) settle() {
	next := x.fleet.Tick(x.now)
	x.told = append(x.told, x.fleet.Events()...)
	for _, g := range x.fleet.Grants() {
		x.send(g)
	}
	x.fleet.Retries()
	names, urgent := x.fleet.Changed()
	x.dirty, x.urgent = x.dirty || len(names) > 0, x.urgent || urgent
	if x.dirty {
		if x.urgent || x.now >= x.said+sayPace {
			x.say()
		} else {
			next = min(next, x.said+sayPace)
		}
	}
	x.due++
	this := x.due
	x.at(max(next, x.now+1), func() {
		if this == x.due {
			x.settle()
		}
	})
}

// send brings a permit to its leaf.
func (x *tree) send(g fleet.Grant) {
	i := slices.IndexFunc(x.leaves, func(l *leaf) bool { return l.name == g.Leaf })
	if i < 0 {
		return
	}
	x.after(x.hop()+x.hop(), func() { x.leaves[i].grant(g.Permit) })
}

// say sends the newest state down.
func (x *tree) say() {
	x.version++
	o := &overlay{version: x.version, urgent: x.urgent, snapshots: map[string]*route.Snapshot{}, held: map[string][]string{}}
	f := &route.Fleet{Version: route.FleetVersion{Epoch: 1, Term: 1, Sequence: x.version}, Endpoints: x.fleet.Rows(x.now)}
	for _, locality := range x.localities {
		o.snapshots[locality] = x.snapshot(f, locality)
		for _, e := range f.Endpoints {
			if holds(e.Breakers, locality) {
				o.held[locality] = append(o.held[locality], e.Name)
			}
		}
	}
	x.dirty, x.urgent, x.said = false, false, x.now
	for _, h := range x.hubs {
		d := int64(0)
		if !h.own {
			d = x.hop()
		}
		x.after(d, func() { h.offer(o) })
	}
}

func holds(bs []route.FleetBreaker, locality string) bool {
	return slices.ContainsFunc(bs, func(b route.FleetBreaker) bool {
		return (b.State == route.FleetOpen || b.State == route.FleetHalfOpen) && (b.Locality == "" || b.Locality == locality)
	})
}

// hub batches reports of its children, and hands them the newest state as they are free.
type hub struct {
	*tree
	own      bool // the leader's
	children []*leaf

	waiting      []route.Report
	urgentSince  int64
	routineSince int64
	lastUp       int64
	hurried      int64
	wake         uint64

	state, next *overlay
	first       int64 // when next began to wait
	installs    uint64
}

// add takes a report to pass on.
func (h *hub) add(r route.Report) {
	h.waiting = append(h.waiting, r)
	if h.routineSince == 0 {
		h.routineSince = h.now
	}
	if urgent(&r) && h.urgentSince == 0 {
		h.urgentSince = h.now
	}
	h.wake++
	this := h.wake
	at := max(h.routineSince, h.lastUp+max(routineGap, int64(len(h.children))*ms))
	if h.urgentSince > 0 {
		at = max(h.urgentSince+urgentPause, h.hurried+urgentGap)
	}
	h.at(at, func() {
		if this == h.wake {
			h.up()
		}
	})
}

func urgent(r *route.Report) bool {
	return len(r.Votes)+len(r.Probes) > 0 || slices.ContainsFunc(r.Rows, func(row route.Row) bool { return row.AdmitFailed+row.FinishFailed > 0 })
}

func (h *hub) up() {
	rs := h.waiting
	if h.urgentSince > 0 {
		h.hurried = h.now
	}
	h.waiting, h.urgentSince, h.routineSince, h.lastUp = nil, 0, 0, h.now
	d := int64(0)
	if !h.own {
		d = h.hop()
	}
	h.after(d, func() { h.hear(rs) })
}

// offer takes a state to hand on at its pace.
func (h *hub) offer(o *overlay) {
	if h.next == nil {
		h.first = h.now
	} else {
		o.urgent = o.urgent || h.next.urgent
	}
	h.next = o
	h.installs++
	this := h.installs
	at := min(h.first+mostPace, h.now+quietPace)
	if o.urgent {
		at = h.now
	}
	h.at(at, func() {
		if this == h.installs {
			h.install()
		}
	})
}

func (h *hub) install() {
	h.state, h.next = h.next, nil
	for _, l := range h.children {
		h.serve(l)
	}
}

// serve sends the newest state to a child that is free.
func (h *hub) serve(l *leaf) {
	if !l.free || h.state == nil || h.state.version <= l.version {
		return
	}
	l.free = false
	o := h.state
	h.after(h.hop(), func() { l.apply(o) })
}

// acked frees a child.
func (h *hub) acked(l *leaf) {
	l.free = true
	h.serve(l)
}
