package store

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
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
	l := lookout{store: s, keys: keys(root + ns + "/"), seen: 1, watcher: Watcher{Changed: func(st State) { states = append(states, st) }}}
	defer l.close()
	l.wait(t.Context())
	if l.news != nil {
		t.Fatal("the watch goes on")
	}
	if err := l.look(t.Context(), t0); err != nil || len(states) != 1 {
		t.Fatal(states, err)
	}
	wantHead(t, states[0].Head, "generation 2 published 2 serving 2 pin 0")
}

func TestWhileEtcdIsAwayTheLastStateStandsAndItHealsByItself(t *testing.T) {
	e := startExternal(t)
	s := e.dial(t)
	publish(t, s, 0, content("one", "chat"))
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

// external is a member of its own, reached by a unix socket, that can be stopped.
type external struct {
	dir   string
	quota int64 // bytes; 0: as members have it
	etcd  *embed.Etcd
}

func startExternal(t *testing.T) *external {
	t.Helper()
	dir, err := os.MkdirTemp("", "pm") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	e := &external{dir: dir}
	e.start(t)
	t.Cleanup(func() {
		e.stop()
		os.RemoveAll(dir)
	})
	return e
}

func (e *external) address() string { return "unix://" + filepath.Join(e.dir, "s") }

func (e *external) start(t *testing.T) {
	t.Helper()
	c := memberConfig(e.dir)
	u, err := url.Parse(e.address())
	if err != nil {
		t.Fatal(err)
	}
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{*u}, []url.URL{*u}
	if e.quota > 0 {
		c.QuotaBackendBytes = e.quota
	}
	if e.etcd, err = embed.StartEtcd(c); err != nil {
		t.Fatal(err)
	}
	<-e.etcd.Server.ReadyNotify()
}

func (e *external) stop() {
	if e.etcd != nil {
		e.etcd.Close()
	}
	e.etcd = nil
}

func (e *external) dial(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{Endpoints: []string{e.address()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	s.confirmEvery, s.opTimeout = 50*time.Millisecond, 500*time.Millisecond
	return s
}

func TestAFullEtcdSaysSoAndStillSweeps(t *testing.T) {
	e := startExternal(t)
	s := e.dial(t)
	publish(t, s, 0, content("one", "chat"))
	k := keys(root + ns + "/")
	orphan, err := pack(content("lost", "chat"), t0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.writeChunks(t.Context(), k, orphan); err != nil {
		t.Fatal(err)
	}
	e.stop()
	e.quota = 1 // bytes
	e.start(t)
	_, _, err = s.Publish(t.Context(), ns, publication(s, 1, content("two", "chat")))
	if !errors.Is(err, ErrNoSpace) {
		t.Fatal(err)
	}
	if err := s.Sweep(t.Context(), ns, t0.Add(2*orphanAge)); err != nil {
		t.Fatal(err)
	}
	got, err := s.client.Get(t.Context(), k.chunks(orphan.id), clientv3.WithPrefix())
	if err != nil || got.Count != 0 {
		t.Fatalf("%d chunks left: %v", got.Count, err)
	}
}
