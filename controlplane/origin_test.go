package controlplane

import (
	"testing"

	"github.com/pointsman/pointsman/agent/hub"
	"github.com/pointsman/pointsman/clientlib/wire"
)

// A view may be dropped and asked for again before anybody looked: its children hold
// nothing of it.
func TestAViewThatComesBackIsPublishedAnew(t *testing.T) {
	o := newOrigin()
	v := hub.View{Selector: wire.Selector{All: true}}
	o.Subscribe(v)
	_, cuts, _ := o.take()
	cuts[0].catalog = &wire.State{} // published
	o.Unsubscribe(v)
	o.Subscribe(v)
	if _, cuts, _ = o.take(); len(cuts) != 1 || cuts[0].catalog != nil {
		t.Errorf("%d views; the first counts as published", len(cuts))
	}
}
