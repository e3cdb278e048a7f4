package controlplane

import (
	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
	"github.com/pointsman/pointsman/controlplane/fleet"
	"github.com/pointsman/pointsman/controlplane/rpc"
)

// session is one term of judging.
type session struct {
	judge *judge
	term  term
	fleet *fleet.Fleet
	taken
	overlay
	notes
	witness witnesses
	status  rpc.Judged
	swept   int64
}

// taken is what of the catalog has been applied.
type taken struct {
	catalog   *route.Catalog
	instances *[]route.FleetInstances
}

func newSession(j *judge, t term) *session {
	return &session{judge: j, term: t, overlay: newOverlay(), notes: notes{}, witness: witnesses{}}
}

// begin goes on from the overlay that this replica held: nil, or what another leader said,
// or this one in an earlier term. What cannot be read of it is learned anew.
func (s *session) begin(held *wire.State) {
	known, err := wire.Fleet(held)
	if err != nil {
		s.judge.log.Error("the overlay that was held cannot be read: beginning without", "error", err)
		known, held = &route.Fleet{}, nil
	}
	s.fleet = fleet.New(fleet.Config{Term: s.term.number, Held: known.Endpoints})
	s.hold(held, known)
	s.recall(known)
	s.judge.instances.CompareAndSwap(nil, &known.Instances)
	s.apply()
}

// apply takes the newest catalog, with the newest instances.
func (s *session) apply() {
	c, in := s.judge.catalog.Load(), s.judge.instances.Load()
	if c == s.catalog && in == s.instances {
		return
	}
	s.tellInstances(*in)
	s.taken = taken{c, in}
	whole := route.Expand(c, *in)
	s.witness.only(whole.Endpoints)
	s.keepOnly(whole.Endpoints)
	s.fleet.Apply(s.judge.now(), whole)
}

func (s *session) observe(a arrival) {
	for _, m := range a.report.GetLeaves() {
		r, err := wire.Report(a.at, m)
		if err != nil {
			s.judge.log.Warn("a report cannot be used", "leaf", m.GetLeaf(), "error", err)
			continue
		}
		s.witness.saw(&r)
		s.fleet.Observe(s.judge.now(), r)
	}
	s.observeNodes(a)
	for _, l := range a.report.GetStates() {
		if l.GetGone() {
			s.fleet.Gone(s.judge.now(), l.GetLeaf())
		}
	}
}

func (s *session) observeNodes(a arrival) {
	for _, m := range a.report.GetNodes() {
		r, err := wire.NodeReport(a.at, m)
		if err != nil {
			s.judge.log.Warn("what a node saw cannot be used", "node", m.GetNode(), "error", err)
			continue
		}
		s.fleet.ObserveNode(s.judge.now(), r)
	}
}

// settle lets time pass, tells of what came of it, and says when to look again; false: the
// term is lost, and nothing may be said in its name any more.
func (s *session) settle(now int64) (next int64, leads bool) {
	next = min(s.fleet.Tick(now), now+idleTick)
	if !s.leads() {
		return 0, false
	}
	if now >= s.swept+idleTick {
		s.sweep(now)
	}
	for _, e := range s.fleet.Events() {
		s.note(now, e)
	}
	if !s.hand(now) {
		return 0, false
	}
	if lost := s.judge.lost.Swap(0); lost > 0 {
		s.judge.events.told.lost.Add(lost)
		s.judge.log.Warn("reports came faster than they were judged", "lost", lost)
	}
	s.gather()
	if due := s.due(); due > now {
		return min(next, due), true
	}
	return max(next, now), s.say(now)
}

// leads is asked before each thing that is said: etcd fences writes, but neither grants nor
// states.
func (s *session) leads() bool { return s.term.holds() }

// sweep forgets what is silent, and looks at what goes on.
func (s *session) sweep(now int64) {
	s.swept = now
	s.witness.forget(now)
	s.expire(now)
	s.summarize(now)
}

// hand hands out permits, each only while the term holds by this process's own clock.
func (s *session) hand(now int64) (leads bool) {
	for _, g := range s.fleet.Grants() {
		if !s.leads() {
			return false
		}
		if !s.judge.grant(now, wire.EncodePermit(now, g.Leaf, s.term.number, g.Permit)) {
			s.judge.log.Debug("a permit found no way", "leaf", g.Leaf, "endpoint", g.Permit.Endpoint)
		}
	}
	return true
}

// gather takes the news of the judge.
func (s *session) gather() {
	names, urgent := s.fleet.Changed()
	s.urgent = s.urgent || urgent
	for _, name := range names {
		s.changed[name] = true
	}
	s.retries = append(s.retries, s.fleet.Retries()...)
}
