package uplink

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// view is one subscription and what has come of it.
type view struct {
	want     Want
	tracks   [2]held // catalog, fleet
	unusable []*pb.Unusable
	tried    bool // to start from disk
}

// held is one track of a view.
type held struct {
	track  pb.Track
	state  *wire.State // the last that was applied; nil: none
	cold   bool        // it was applied with nothing before it
	aged   bool        // by a suspend, perhaps too much: nothing is said to be held until a parent dates it anew
	nacked *pb.Version // the last that was refused
	asked  bool        // the whole state was asked for on this stream: only that is taken
}

// changed is the view with another want. What it holds stays until something better comes,
// unless it was for somebody else.
func (v *view) changed(w Want) *view {
	next := &view{want: w, tracks: [2]held{{track: pb.Track_TRACK_CATALOG}, {track: pb.Track_TRACK_FLEET}}}
	if v != nil && v.want.Identity == w.Identity {
		next.tracks, next.unusable = v.tracks, v.unusable
	}
	return next
}

func (v *view) catalog() *held { return &v.tracks[0] }

func (v *view) of(track pb.Track) *held {
	for i := range v.tracks {
		if v.tracks[i].track == track {
			return &v.tracks[i]
		}
	}
	return nil
}

// forget begins a new stream: its parent is told what is held, and may send changes.
func (v *view) forget() {
	for i := range v.tracks {
		v.tracks[i].asked = false
	}
}

// older ages what is held and says so for each track.
func (v *view) older(by int64, offer func(*held)) {
	for i := range v.tracks {
		if t := &v.tracks[i]; t.state != nil {
			t.state, t.aged = t.state.Older(by), true
			offer(t)
		}
	}
}

// held is what hellos and acks say is held of all views.
func (l *Link) held() []*pb.Held {
	var all []*pb.Held
	for _, number := range l.numbers() {
		for _, t := range l.views[number].tracks {
			if !t.aged && (t.state != nil || t.nacked != nil) {
				all = append(all, t.message(number))
			}
		}
	}
	return all
}

func (t *held) message(number uint32) *pb.Held {
	return &pb.Held{Track: t.track, View: number, Version: t.state.Version(), Digest: t.state.Digest(), Nacked: t.nacked}
}

func (l *Link) unusable() []*pb.Unusable {
	var all []*pb.Unusable
	for _, number := range l.numbers() {
		all = append(all, l.views[number].unusable...)
	}
	return all
}

// update applies an update and acks or nacks it; its error ends the stream. What belongs
// to a view that was dropped meanwhile, or to a track of the future, says nothing.
func (l *Link) update(out *outbox, dated int64, u *pb.Update) error {
	v := l.views[u.GetView()]
	if v == nil || v.of(u.Track) == nil {
		return nil
	}
	t := v.of(u.Track)
	if err := l.sameStore(u.Version); err != nil {
		return err
	}
	if t.asked && u.Since != nil {
		return nil
	}
	next, err := t.state.Apply(dated, u)
	switch {
	case errors.Is(err, wire.ErrOlder): // rule 3: it is the parent that is behind
		out.put(ack([]*pb.Held{t.message(u.View)}, v.unusable))
	case incomplete(err) && !t.asked:
		l.whole(out, v, u.View)
	case err != nil:
		l.nack(out, t, u, err)
	default:
		l.came(u)
		l.apply(out, v, t, next, u)
	}
	return nil
}

// sameStore refuses what another control plane sends: two embedded stores are not one.
func (l *Link) sameStore(v *pb.Version) error {
	for _, number := range l.numbers() {
		for _, t := range l.views[number].tracks {
			have, sent := t.state.Version().GetStoreId(), v.GetStoreId()
			if have != "" && sent != "" && have != sent {
				return fmt.Errorf("the parent serves store %q, this process runs a catalog of store %q: "+
					"it is another control plane; to change over, restart with an empty state folder", sent, have)
			}
		}
	}
	return nil
}

// incomplete tells whether the whole state would help.
func incomplete(err error) bool {
	var digest *wire.DigestError
	return errors.As(err, &digest) || errors.Is(err, wire.ErrSince)
}

// whole asks for the whole state of a view (rule 6). A hello comes once a stream, and a
// subscribe alone says nothing of what is held; so the view is dropped and subscribed to
// again, which holds nothing. Until a whole state comes, changes on their way are not taken.
func (l *Link) whole(out *outbox, v *view, number uint32) {
	for i := range v.tracks {
		v.tracks[i].asked = true
	}
	out.put(subscribe(&pb.Subscribe{View: number, Drop: true}))
	out.put(subscribe(v.want.subscribe(number)))
}

func (l *Link) nack(out *outbox, t *held, u *pb.Update, err error) {
	t.nacked, t.asked = u.Version, false
	out.put(&pb.SyncRequest{Message: &pb.SyncRequest_Nack{Nack: &pb.Nack{
		Track: u.Track, View: u.View, Version: u.Version, Reason: reason(err),
	}}})
	l.observe(Event{Kind: Nacked, View: u.View, Track: u.Track, Version: u.Version, Err: err})
}

// maxReason bounds what a nack says: a catalog may be wrong in ten thousand places.
const maxReason = 4 << 10

func reason(err error) string {
	text := err.Error()
	if len(text) <= maxReason {
		return text
	}
	return strings.ToValidUTF8(text[:maxReason], "") + " …"
}

// apply offers a state to the handler and acks it; then, and only then, it goes to disk.
func (l *Link) apply(out *outbox, v *view, t *held, next *wire.State, u *pb.Update) {
	t.asked = false
	catalog := t == v.catalog()
	if catalog && !t.aged && t.state.Same(next) { // said before
		out.put(ack([]*pb.Held{t.message(u.View)}, v.unusable))
		return
	}
	cold := t.state == nil
	unusable, err := l.handler.Apply(u.View, next, cold)
	if err != nil {
		l.nack(out, t, u, err)
		return
	}
	t.state, t.cold, t.aged, t.nacked = next, cold, false, nil
	if !catalog {
		l.leader = l.leader.newest(next.Version())
		out.put(ack([]*pb.Held{t.message(u.View)}, nil))
		return
	}
	v.unusable = unusable
	out.put(ack([]*pb.Held{t.message(u.View)}, unusable))
	l.observe(Event{Kind: Applied, View: u.View, Track: t.track, Version: next.Version()})
	l.saver.save(v.want.file(), task{view: u.View, state: next})
}

// term is the leader's term that grants are taken from.
type term struct{ epoch, term uint64 }

func (t term) newest(v *pb.Version) term {
	n := term{v.GetEpoch(), v.GetTerm()}
	if cmp.Or(cmp.Compare(n.epoch, t.epoch), cmp.Compare(n.term, t.term)) > 0 {
		return n
	}
	return t
}

// grant passes a grant on: for this leaf, or any that a relay speaks for, and only from
// the newest leader known.
func (l *Link) grant(dated int64, g *pb.Grant) {
	if g.GetTerm() < l.leader.term || !l.cfg.Hello.Relay && g.GetLeaf() != l.cfg.Hello.Leaf {
		return
	}
	l.leader.term = g.GetTerm()
	l.handler.Grant(dated, g)
}
