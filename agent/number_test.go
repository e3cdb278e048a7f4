package agent

import (
	"testing"

	"github.com/pointsman/pointsman/agent/hub"
	"github.com/pointsman/pointsman/clientlib/uplink"
	"github.com/pointsman/pointsman/clientlib/wire"
)

// A number of a view is given once: what the parent still says under the number of one that was
// dropped is no answer for another, which would seem to lack what it asked for besides.
func TestALateAnswerForOneViewIsNoneForAnother(t *testing.T) {
	c := Config{Node: "n"}
	c.Parents, c.Dial = parents, newPlace().dial()
	r, err := newRelay(c, door{}, ears{child: func(hub.Event) {}, link: func(uplink.Event) {}})
	if err != nil {
		t.Fatal(err)
	}
	a := hub.View{Selector: wire.Selector{Workloads: []string{"a"}}}
	both := hub.View{Selector: wire.Selector{Workloads: []string{"a", "b"}}}
	r.Subscribe(a)
	number := r.numbers[a.Key()]
	r.Unsubscribe(a)
	r.Subscribe(both)
	if unusable, err := r.Apply(number, catalog(1, "a"), true); unusable != nil || err != nil {
		t.Fatal(unusable, err)
	}
	if held := r.shelf.views[both.Key()]; held != nil {
		t.Errorf("of both there is %v: b seems not to exist", held.catalog)
	}
	if _, err := r.Apply(r.numbers[both.Key()], catalog(1, "a", "b"), true); err != nil || r.shelf.views[both.Key()] == nil {
		t.Errorf("its own answer was not taken: %v", err)
	}
}
