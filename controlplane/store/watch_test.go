package store

import (
	"context"
	"errors"
	"testing"
	"time"

	etcdpb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const patience = 30 * time.Second // far above what anything here takes

// watched runs Watch and keeps what it says.
type watched struct {
	states    chan State
	confirmed chan error
}

func watch(t *testing.T, s *Store) *watched {
	t.Helper()
	w := &watched{states: make(chan State, 100), confirmed: make(chan error, 1000)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- s.Watch(ctx, ns, Watcher{
			Changed:   func(st State) { w.states <- st },
			Confirmed: func(_ time.Time, err error) { w.confirmed <- err },
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return w
}

// until takes states until one of this generation, and checks that they only grow.
func (w *watched) until(t *testing.T, generation uint64) State {
	t.Helper()
	var last *pb.Head
	for timeout := time.After(patience); ; {
		select {
		case st := <-w.states:
			if last != nil && st.Head.GetGeneration() <= last.GetGeneration() {
				t.Fatalf("generation %d after %d", st.Head.GetGeneration(), last.GetGeneration())
			}
			if last = st.Head; last.GetGeneration() == generation {
				return st
			}
		case <-timeout:
			t.Fatalf("generation %d did not come, last was %v", generation, last)
		}
	}
}

// heard waits for a look that ended so.
func (w *watched) heard(t *testing.T, is func(error) bool) {
	t.Helper()
	for timeout := time.After(patience); ; {
		select {
		case err := <-w.confirmed:
			if is(err) {
				return
			}
		case <-timeout:
			t.Fatal("no such look")
		}
	}
}

func away(err error) bool { return errors.Is(err, ErrUnavailable) }
func fine(err error) bool { return err == nil }

func TestAWatchDeliversEveryKindOfChangeOnce(t *testing.T) {
	s := open(t)
	s.confirmEvery = 20 * time.Millisecond
	w := watch(t, s)
	w.until(t, 0)
	publish(t, s, 0, content("one", "chat"))
	w.until(t, 1)
	drain(t, s, "azure")
	if st := w.until(t, 2); len(st.Overrides) != 1 {
		t.Fatalf("%d overrides", len(st.Overrides))
	}
	pin(t, s, "", 1)
	w.until(t, 3)
	w.heard(t, fine)
	w.heard(t, fine)
	select {
	case st := <-w.states:
		t.Fatalf("nothing changed and generation %d was delivered", st.Head.GetGeneration())
	default:
	}
}

func TestASlowWatcherGetsTheNewestState(t *testing.T) {
	s := open(t)
	w := watch(t, s)
	w.until(t, 0)
	for n := range uint64(20) {
		publish(t, s, n, content(string(rune('a'+n)), "chat"))
	}
	w.until(t, 20)
}

func TestAWatchThatWasCompactedAwayLooksAgain(t *testing.T) {
	s := open(t)
	publish(t, s, 0, content("one", "chat"))
	publish(t, s, 1, content("two", "chat"))
	got, err := s.client.Get(t.Context(), metaKey)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.client.Compact(t.Context(), got.Header.Revision); err != nil {
		t.Fatal(err)
	}
	var states []State
	l := lookout{store: s, keys: keys(root + ns + "/"), watcher: Watcher{Changed: func(st State) { states = append(states, st) }}}
	v := l.vigil()
	v.seen = 1
	defer v.close()
	v.wait(t.Context())
	if v.news != nil {
		t.Fatal("the watch goes on")
	}
	if _, err := l.look(t.Context(), t0); err != nil || len(states) != 1 {
		t.Fatal(states, err)
	}
	wantHead(t, states[0].Head, "generation 2 published 2 serving 2 pin 0")
}

// cutting ends each watch as etcd does when what it asks for was compacted.
type cutting struct {
	clientv3.Watcher
	cuts chan struct{}
}

func (c *cutting) Watch(context.Context, string, ...clientv3.OpOption) clientv3.WatchChan {
	out := make(chan clientv3.WatchResponse, 1)
	out <- clientv3.WatchResponse{Canceled: true, CompactRevision: 1 << 40}
	close(out)
	select {
	case c.cuts <- struct{}{}:
	default:
	}
	return out
}

// Scenario 41: watches that are cut look again, at what did not change.
func TestAWatchThatIsCutAgainAndAgainDeliversNothingThatIsHeld(t *testing.T) {
	s := open(t)
	publish(t, s, 0, content("one", "chat"))
	c := &cutting{Watcher: s.client.Watcher, cuts: make(chan struct{}, 1000)}
	s.client.Watcher = c
	w := watch(t, s)
	w.until(t, 1)
	for range 5 {
		take(t, c.cuts, "a cut")
	}
	if len(w.states) != 0 {
		t.Fatal("the same state was delivered again")
	}
	publish(t, s, 1, content("two", "chat"))
	w.until(t, 2)
}

// early tells of revisions that are to come, and of a head that is gone.
type early struct {
	clientv3.Watcher
	told chan clientv3.WatchResponse
}

func (e *early) Watch(context.Context, string, ...clientv3.OpOption) clientv3.WatchChan {
	return e.told
}

// Scenario 45: progress is told ahead of events, and old events after it.
func TestAnEventThatIsEarlyOrOldIsAHintAndNoMore(t *testing.T) {
	s := open(t)
	first, _ := publish(t, s, 0, content("one", "chat"))
	old, err := proto.Marshal(first)
	must(t, err)
	publish(t, s, 1, content("two", "chat"))
	e := &early{Watcher: s.client.Watcher, told: make(chan clientv3.WatchResponse)}
	s.client.Watcher = e
	s.confirmEvery = patience
	w := watch(t, s)
	defer close(e.told) // before its end is waited for
	w.until(t, 2)
	w.heard(t, fine)
	for _, r := range []clientv3.WatchResponse{
		{Header: &etcdpb.ResponseHeader{Revision: 1 << 40}}, // progress
		{Header: &etcdpb.ResponseHeader{Revision: 2}, Events: []*clientv3.Event{{Kv: &mvccpb.KeyValue{Key: []byte(keys(root + ns + "/").head()), Value: old}}}},
	} {
		e.told <- r
		w.heard(t, fine)
	}
	if len(w.states) != 0 {
		t.Fatal("what an event said was delivered")
	}
	publish(t, s, 2, content("three", "chat"))
	e.told <- clientv3.WatchResponse{}
	w.until(t, 3)
}

func TestWhileEtcdIsAwayTheLastStateStandsAndItHealsByItself(t *testing.T) {
	t.Parallel()
	e := startExternal(t)
	s := e.dial(t)
	publish(t, s, 0, content("one", "chat"))
	s.opTimeout = 500 * time.Millisecond
	w := watch(t, s)
	w.until(t, 1)
	e.stop()
	w.heard(t, away)
	if len(w.states) != 0 {
		t.Fatal("a state came from nowhere")
	}
	e.start(t)
	w.heard(t, fine)
	publish(t, s, 1, content("two", "chat"))
	w.until(t, 2)
}

func TestAnEtcdThatWentBackIsSaidAndNotDelivered(t *testing.T) {
	s := open(t)
	s.confirmEvery = 20 * time.Millisecond
	h, _ := publish(t, s, 0, content("one", "chat"))
	old, err := proto.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	publish(t, s, 1, content("two", "chat"))
	w := watch(t, s)
	w.until(t, 2)
	if _, err := s.client.Put(t.Context(), keys(root+ns+"/").head(), string(old)); err != nil {
		t.Fatal(err)
	}
	w.heard(t, func(err error) bool { return err != nil && !away(err) })
	if len(w.states) != 0 {
		t.Fatal("the old head was delivered")
	}
}
