package hub

import (
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// delta is what takes a state at since to the newest. Children share it: it never changes,
// but to be encoded.
type delta struct {
	state   *wire.State
	since   *pb.Version // nil: the whole
	upserts []*pb.Resource
	removed []*pb.ResourceRef
	dated   []datedRow
	bytes   int // of the upserts
	shared  shared
}

type datedRow struct {
	key wire.Key
	at  int64
}

// delta is what a child at p needs: what changed since, if the log tells, or the whole.
func (t *track) delta(p point) *delta {
	slot, since := 0, (*pb.Version)(nil)
	if t.covers(p) {
		slot, since = 1, p.version
	}
	d := t.cache[slot]
	if d == nil || t.order(d.since, since) != 0 {
		d = t.compute(since)
		t.cache[slot] = d
	}
	return d
}

// covers says whether the log tells all that changed since p. Only a digest proves that
// two states of one version are the same.
func (t *track) covers(p point) bool {
	if p.version == nil || p.digest == "" || p.version.StoreId != t.state.Version().StoreId {
		return false
	}
	if t.order(p.version, t.state.Version()) == 0 {
		return p.may(t.state)
	}
	order := t.order(p.version, t.base.version)
	return order > 0 || order == 0 && (t.base.digest == "" || t.base.digest == p.digest)
}

func (t *track) compute(since *pb.Version) *delta {
	d := &delta{state: t.state, since: since}
	if since == nil {
		for k, e := range t.state.All() {
			d.add(k, e, true)
		}
		return d
	}
	written := map[wire.Key]bool{}
	for i := len(t.log) - 1; i >= 0 && t.order(t.log[i].at, since) > 0; i-- {
		c := t.log[i]
		written[c.key] = written[c.key] || !c.dated
	}
	for k := range t.anew {
		if _, ok := written[k]; !ok {
			written[k] = false // its date at least
		}
	}
	for k, body := range written {
		if e, ok := t.state.Lookup(k); ok {
			d.add(k, e, body)
		} else {
			d.removed = append(d.removed, &pb.ResourceRef{Kind: k.Kind, Name: k.Name})
		}
	}
	return d
}

func (d *delta) add(k wire.Key, e wire.Entry, body bool) {
	if body {
		r := &pb.Resource{Kind: k.Kind, Name: k.Name, Body: e.Body}
		d.upserts, d.bytes = append(d.upserts, r), d.bytes+resourceSize(r)
	}
	if e.At != 0 {
		d.dated = append(d.dated, datedRow{k, e.At})
	}
}

// update is the message for a child that calls the view by this number.
func (d *delta) update(now int64, v View, number uint32) *pb.Update {
	u := &pb.Update{
		Track: d.state.Track(), View: number, Since: d.since, Version: d.state.Version(),
		Upserts: d.upserts, Removed: d.removed, Digest: d.state.Digest(), Empty: emptiness(v, d.state),
	}
	for _, r := range d.dated {
		u.Ages = append(u.Ages, &pb.Age{Kind: r.key.Kind, Name: r.key.Name, AgeUs: max(0, now-r.at)})
	}
	return u
}

// emptiness is why nothing is in s, if nothing is.
func emptiness(v View, s *wire.State) pb.EmptyReason {
	switch {
	case s.Len() > 0:
		return pb.EmptyReason_EMPTY_REASON_UNSPECIFIED
	case s.Empty() == pb.EmptyReason_EMPTY_REASON_UNSPECIFIED && !v.Selector.All && len(v.Selector.Workloads) == 0:
		return pb.EmptyReason_EMPTY_REASON_UNSUBSCRIBED
	}
	return s.Empty()
}
