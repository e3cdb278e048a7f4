package controlplane

import (
	"math"
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	heldFor    = int64(30e6) // µs that a row counts without news: protocol.md, rule 1
	refreshDue = int64(20e6) // µs; the judge's own row takes an old one's place before that one is over
)

// overlay is what a term says of the fleet, row by row. It begins with the rows of the term
// before, as they were said and with their ages, and each stays until the judge has heard of
// its endpoint itself.
type overlay struct {
	sequence uint64
	rows     map[wire.Key]wire.Entry
	old      map[string]route.FleetEndpoint // rows that an earlier term said, by endpoint
	changed  map[string]bool                // endpoints whose row is not what it was when last said
	retries  []route.FleetWorkload          // news of them
	news     bool                           // a row went, or has other instances
	urgent   bool
	said     int64
}

func newOverlay() overlay {
	return overlay{rows: map[wire.Key]wire.Entry{}, old: map[string]route.FleetEndpoint{}, changed: map[string]bool{}}
}

func endpointKey(name string) wire.Key {
	return wire.Key{Kind: pb.Kind_KIND_FLEET_ENDPOINT, Name: name}
}

// hold begins with the rows of an earlier term.
func (o *overlay) hold(held *wire.State, known *route.Fleet) {
	for k, e := range held.All() {
		o.rows[k] = e
	}
	for i := range known.Endpoints {
		o.old[known.Endpoints[i].Name] = known.Endpoints[i]
	}
}

// keepOnly drops old rows of endpoints that are no more, or are others now.
func (o *overlay) keepOnly(endpoints []route.Endpoint) {
	identities := make(map[string]uint64, len(endpoints))
	for i := range endpoints {
		identities[endpoints[i].Name] = endpoints[i].Identity
	}
	for name, row := range o.old {
		if identities[name] != row.Identity {
			o.drop(name)
		}
	}
}

// expire drops rows that count no more: old ones of endpoints, and of workloads all that were
// not said again.
func (o *overlay) expire(now int64) {
	for k, e := range o.rows {
		if k.Kind == pb.Kind_KIND_FLEET_WORKLOAD && now-e.At >= heldFor {
			delete(o.rows, k)
			o.news = true
		}
	}
	for name, row := range o.old {
		if now-row.At >= heldFor {
			o.drop(name)
		}
	}
}

func (o *overlay) drop(name string) {
	delete(o.old, name)
	delete(o.rows, endpointKey(name))
	o.news = true
}

// stays tells whether an old row says all that the judge's own would: it has heard nothing
// of the endpoint yet.
func (o *overlay) stays(now int64, name string, row *route.FleetEndpoint) bool {
	old, ok := o.old[name]
	return ok && len(row.Loads) == 0 && now-old.At < refreshDue && row.Speed == old.Speed && slices.Equal(old.Breakers, row.Breakers)
}

// due is when the next state is to be said; never, while there is no news.
func (o *overlay) due() int64 {
	switch {
	case o.sequence == 0, o.urgent:
		return 0
	case len(o.changed)+len(o.retries) == 0 && !o.news:
		return math.MaxInt64
	}
	return o.said + fleetPace
}

// encode brings the rows that changed up to date: once for all that changed them since.
func (s *session) encode(now int64) {
	for name := range s.changed {
		row, ok := s.fleet.Row(now, name)
		if s.stays(now, name, &row) {
			continue
		}
		delete(s.old, name)
		delete(s.rows, endpointKey(name))
		if !ok {
			continue
		}
		r, err := wire.EncodeFleetEndpoint(now, &row)
		if err != nil {
			s.judge.log.Error("a row cannot be told", "endpoint", name, "error", err)
			continue
		}
		s.rows[endpointKey(name)] = entryOf(r, now)
	}
	clear(s.changed)
	for _, w := range s.retries {
		s.encodeRetries(w)
	}
	s.retries, s.news = nil, false
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
	s.rows[key] = entryOf(r, w.At)
}

// tellInstances has a row for each endpoint whose addresses were found: they stay until
// there are others.
func (s *session) tellInstances(all []route.FleetInstances) {
	for k := range s.rows {
		if k.Kind == pb.Kind_KIND_FLEET_INSTANCES {
			delete(s.rows, k)
		}
	}
	for _, in := range all {
		r, err := wire.EncodeFleetInstances(in)
		if err != nil {
			s.judge.log.Error("instances cannot be told", "endpoint", in.Endpoint, "error", err)
			continue
		}
		s.rows[wire.Key{Kind: pb.Kind_KIND_FLEET_INSTANCES, Name: in.Endpoint}] = entryOf(r, 0)
	}
	s.news = true
}

func entryOf(r *pb.Resource, at int64) wire.Entry {
	return wire.Entry{Body: r.GetBody(), Hash: wire.HashOf(r.GetBody()), At: at}
}

// say has the newest rows served, while the term holds.
func (s *session) say(now int64) (leads bool) {
	if !s.leads() {
		return false
	}
	s.encode(now)
	s.sequence++
	v := &pb.Version{StoreId: s.catalog.Version.StoreID, Epoch: s.catalog.Version.Epoch, Term: s.term.number, Sequence: s.sequence}
	state := wire.NewState(pb.Track_TRACK_FLEET, v, s.rows)
	s.status.Term, s.status.Evidence = s.term.number, s.evidence()
	s.judge.origin.say(state, s.status, s.urgent)
	s.urgent, s.said = false, now
	return true
}
