package controlplane

import (
	"testing"

	"github.com/pointsman/pointsman/agent/hub"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// A view may be dropped and asked for again before anybody looked: its children hold
// nothing of it.
func TestAViewThatComesBackIsPublishedAnew(t *testing.T) {
	o := newOrigin()
	v := hub.View{Selector: wire.Selector{All: true}}
	o.Subscribe(v)
	_, cuts := o.take()
	cuts[0].catalog = &wire.State{} // published
	o.Unsubscribe(v)
	o.Subscribe(v)
	if _, cuts = o.take(); len(cuts) != 1 || cuts[0].catalog != nil {
		t.Errorf("%d views; the first counts as published", len(cuts))
	}
}

// Rule 2: a leader that was late to hear that it leads no more does not take anybody back.
func TestAnOlderStateIsNotPassedOn(t *testing.T) {
	o := newOrigin()
	state := func(term, sequence uint64) *wire.State {
		return wire.NewState(pb.Track_TRACK_FLEET, &pb.Version{Epoch: 1, Term: term, Sequence: sequence}, nil)
	}
	for _, s := range []*wire.State{state(7, 1), state(7, 3), state(7, 2), state(8, 1), state(7, 9)} {
		o.pass(s)
	}
	if v := o.state().Fleet.Version(); v.GetTerm() != 8 || v.GetSequence() != 1 || o.state().Term != 8 {
		t.Errorf("serves %v", v)
	}
	o.change(func() { o.live.Leads = true })
	o.pass(state(9, 1))
	if v := o.state().Fleet.Version(); v.GetTerm() != 8 {
		t.Errorf("it leads, and serves what another says: %v", v)
	}
}
