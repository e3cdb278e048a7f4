package controlplane

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
	"github.com/pointsman/pointsman/controlplane/fleet"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// session is one term of judging.
type session struct {
	judge    *judge
	fleet    *fleet.Fleet
	term     uint64
	catalog  route.CatalogVersion
	sequence uint64
	rows     map[wire.Key]wire.Entry
	changed  map[string]bool              // endpoints whose row is not what it was when last said
	retries  []route.FleetWorkload        // news of them
	evidence map[string]map[string]string // what opened breakers, by endpoint, by class and locality
	witness  witnesses
	urgent   bool
	said     int64
	swept    int64
}

func newSession(j *judge, term uint64) *session {
	return &session{
		judge: j, term: term, fleet: fleet.New(fleet.Config{Term: term}),
		rows: map[wire.Key]wire.Entry{}, changed: map[string]bool{},
		evidence: map[string]map[string]string{}, witness: witnesses{},
	}
}

func (s *session) apply(c *route.Catalog) {
	s.catalog = c.Version
	s.witness.only(c.Endpoints)
	s.fleet.Apply(s.judge.now(), c)
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
	for _, l := range a.report.GetStates() {
		if l.GetGone() {
			s.fleet.Gone(s.judge.now(), l.GetLeaf())
		}
	}
}

// settle lets time pass, tells of what came of it, and says when to look again.
func (s *session) settle(now int64) (next int64) {
	next = min(s.fleet.Tick(now), now+idleTick)
	if now >= s.swept+idleTick {
		s.witness.forget(now)
		s.swept = now
	}
	for _, e := range s.fleet.Events() {
		s.note(e)
	}
	for _, g := range s.fleet.Grants() {
		if !s.judge.grant(now, wire.EncodePermit(now, g.Leaf, s.term, g.Permit)) {
			s.judge.log.Debug("a permit found no way", "leaf", g.Leaf, "endpoint", g.Permit.Endpoint)
		}
	}
	if lost := s.judge.lost.Swap(0); lost > 0 {
		s.judge.log.Warn("reports came faster than they were judged", "lost", lost)
	}
	names, urgent := s.fleet.Changed()
	s.urgent = s.urgent || urgent
	for _, name := range names {
		s.changed[name] = true
	}
	s.retries = append(s.retries, s.fleet.Retries()...)
	if s.sequence > 0 && len(s.changed)+len(s.retries) == 0 {
		return max(next, now)
	}
	if s.urgent || now >= s.said+fleetPace {
		s.say(now)
		return max(next, now)
	}
	return max(min(next, s.said+fleetPace), now)
}

// encode brings the rows that changed up to date: once for all that changed them since.
func (s *session) encode(now int64) {
	for name := range s.changed {
		key := wire.Key{Kind: pb.Kind_KIND_FLEET_ENDPOINT, Name: name}
		row, ok := s.fleet.Row(now, name)
		if !ok {
			delete(s.rows, key)
			continue
		}
		r, err := wire.EncodeFleetEndpoint(now, &row)
		if err != nil {
			s.judge.log.Error("a row cannot be told", "endpoint", name, "error", err)
			continue
		}
		s.rows[key] = wire.Entry{Body: r.GetBody(), Hash: wire.HashOf(r.GetBody()), At: now}
	}
	clear(s.changed)
	for _, w := range s.retries {
		s.encodeRetries(w)
	}
	s.retries = nil
}

// encodeRetries has no row for who may retry as ever.
func (s *session) encodeRetries(w route.FleetWorkload) {
	key := wire.Key{Kind: pb.Kind_KIND_FLEET_WORKLOAD, Name: w.Name}
	delete(s.rows, key)
	if w.RetryFactor == 1 {
		return
	}
	r, err := wire.EncodeFleetWorkload(w)
	if err != nil {
		s.judge.log.Error("a row cannot be told", "workload", w.Name, "error", err)
		return
	}
	s.rows[key] = wire.Entry{Body: r.GetBody(), Hash: wire.HashOf(r.GetBody()), At: w.At}
}

// say has the newest rows served.
func (s *session) say(now int64) {
	s.encode(now)
	s.sequence++
	state := wire.NewState(pb.Track_TRACK_FLEET, &pb.Version{StoreId: s.catalog.StoreID, Epoch: s.catalog.Epoch, Term: s.term, Sequence: s.sequence}, s.rows)
	evidence := make(map[string][]string, len(s.evidence))
	for endpoint, lines := range s.evidence {
		if len(lines) == 0 {
			delete(s.evidence, endpoint)
			continue
		}
		evidence[endpoint] = slices.Sorted(maps.Values(lines))
	}
	nodes := s.witness.count()
	o, urgent := s.judge.origin, s.urgent
	o.change(func() {
		o.live.Fleet, o.live.Term, o.live.Evidence, o.live.Witnesses = state, s.term, evidence, nodes
		o.urgent = o.urgent || urgent
	})
	s.urgent, s.said = false, now
}

// note logs an event, and keeps what opened a breaker until it closes.
func (s *session) note(e fleet.Event) {
	s.judge.log.Info("breaker "+e.Kind.String(), "endpoint", e.Endpoint, "class", e.Class, "locality", e.Locality, "round", e.Round, "evidence", e.Evidence)
	word := e.Class.String()
	if e.Locality != "" {
		word += " in " + e.Locality
	}
	switch e.Kind {
	case fleet.Closed:
		delete(s.evidence[e.Endpoint], word)
	case fleet.Opened:
		if s.evidence[e.Endpoint] == nil {
			s.evidence[e.Endpoint] = map[string]string{}
		}
		s.evidence[e.Endpoint][word] = fmt.Sprintf("%s, round %d: %s", word, e.Round, e.Evidence)
	}
}
