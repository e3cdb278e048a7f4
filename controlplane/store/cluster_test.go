package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// cluster is three members that speak to each other over loopback.
type cluster struct {
	dir     string
	peers   []string // URLs
	members []*embed.Etcd
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{dir: shortDir(t), peers: freeURLs(t, 3), members: make([]*embed.Etcd, 3)}
	var starting sync.WaitGroup
	for i := range c.members {
		starting.Go(func() { c.start(t, i) })
	}
	starting.Wait()
	t.Cleanup(func() {
		for i := range c.members { // at once, each waits for the others to take over
			c.stop(i)
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	return c
}

// freeURLs are of ports that were free a moment ago.
func freeURLs(t *testing.T, n int) []string {
	t.Helper()
	var out []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		defer l.Close()
		out = append(out, "http://"+l.Addr().String())
	}
	return out
}

func (c *cluster) address(i int) string { return "unix://" + filepath.Join(c.dir, fmt.Sprint(i)) }

func (c *cluster) start(t *testing.T, i int) {
	parsed := func(s string) []url.URL {
		u, err := url.Parse(s)
		if err != nil {
			t.Error(err)
			return nil
		}
		return []url.URL{*u}
	}
	e := memberConfig(filepath.Join(c.dir, fmt.Sprint("m", i)))
	e.Name = fmt.Sprint("m", i)
	e.ListenPeerUrls, e.AdvertisePeerUrls = parsed(c.peers[i]), parsed(c.peers[i])
	e.ListenClientUrls, e.AdvertiseClientUrls = parsed(c.address(i)), parsed(c.address(i))
	e.InitialCluster = fmt.Sprintf("m0=%s,m1=%s,m2=%s", c.peers[0], c.peers[1], c.peers[2])
	e.TickMs, e.ElectionMs = 30, 300
	e.UnsafeNoFsync = true
	m, err := embed.StartEtcd(e)
	if err != nil {
		t.Error(err)
		return
	}
	c.members[i] = m
	<-m.Server.ReadyNotify()
}

func (c *cluster) stop(i int) {
	if c.members[i] != nil {
		c.members[i].Close()
	}
	c.members[i] = nil
}

// leader is the member that leads the others.
func (c *cluster) leader() int {
	for i, m := range c.members {
		if m != nil && m.Server.Leader() == m.Server.MemberID() {
			return i
		}
	}
	return 0
}

func (c *cluster) all() []string { return []string{c.address(0), c.address(1), c.address(2)} }

// Scenario 49: a replica comes back to a member that lags behind. It must not see the past.
func TestAMemberThatFellBehindGivesNoOldHead(t *testing.T) {
	t.Parallel() // it waits, most of the time
	c := startCluster(t)
	away := (c.leader() + 1) % 3
	s := dial(t, c.all()...)
	publish(t, s, 0, content("one", "chat"))
	c.stop(away)
	publishMany(t, s, 1, 20)
	c.start(t, away)
	lagging := dial(t, c.address(away))
	h, err := lagging.Head(t.Context(), ns) // as soon as it answers
	if err != nil || h.GetGeneration() != 21 {
		t.Fatal(h, err)
	}

	// Alone it has no word to say, also not an old one.
	for i := range c.members {
		if i != away {
			c.stop(i)
		}
	}
	alone := dial(t, c.address(away))
	alone.opTimeout = 500 * time.Millisecond
	if h, err := alone.Head(t.Context(), ns); !errors.Is(err, ErrUnavailable) {
		t.Fatal(h, err)
	}
}

// Scenario 53: etcd's leader is stuck and comes back. Leadership may move, nothing is lost.
func TestWhenEtcdsLeaderGoesNothingIsLostAndSomebodyLeads(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	a, b := dial(t, c.all()...), dial(t, c.all()...)
	a.pace, b.pace = defaultPace, defaultPace
	a.opTimeout, b.opTimeout = time.Second, time.Second // the check waits as long for who is away
	w := writer{tenures: make(chan office, 1000)}
	w.campaign(t, a, "a")
	w.campaign(t, b, "b")
	w.write(t)
	stuck := c.leader()
	c.stop(stuck)
	w.write(t)
	wantFinding(t, b, pb.Severity_SEVERITY_WARNING, "does not answer")
	c.start(t, stuck)
	w.write(t)
	wantEvents(t, b, w.kept...)
}

// office is a tenure, and whose it is.
type office struct {
	store  *Store
	tenure *Tenure
}

// writer writes as whoever leads.
type writer struct {
	tenures chan office
	now     office
	kept    []string
}

func (w *writer) campaign(t *testing.T, s *Store, name string) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Lead(ctx, Candidate{Replica: name, Address: name + ":1"}, func(ctx context.Context, tenure *Tenure) { // it ends with ctx
			w.tenures <- office{s, tenure}
			<-ctx.Done()
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

// write appends an event once, however long it takes until somebody can.
func (w *writer) write(t *testing.T) {
	t.Helper()
	name := fmt.Sprint(len(w.kept))
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if w.now.tenure == nil || !w.now.tenure.Holds() {
			w.now = take(t, w.tenures, "a tenure")
		}
		if appendOne(t, w.now.store, w.now.tenure, name) == nil {
			w.kept = append(w.kept, name)
			return
		}
	}
	t.Fatal("nobody can write")
}
