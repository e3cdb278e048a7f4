package clientlib_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// listener remembers events.
type listener struct {
	mu     sync.Mutex
	events []clientlib.Event
	slow   chan struct{} // not nil: Event waits for it
}

func (l *listener) Attempt(clientlib.AttemptInfo) {}

func (*listener) Call(clientlib.CallInfo) {}

func (l *listener) Event(e clientlib.Event) {
	if l.slow != nil {
		<-l.slow
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

// sources are the names that events of kind "source" gave, in order.
func (l *listener) sources() (names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.events {
		if e.Kind == "source" {
			names = append(names, e.Name)
		}
	}
	return names
}

func open(t *testing.T, c clientlib.Config) *clientlib.Client {
	t.Helper()
	client, err := clientlib.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func TestOpenWaitsForTheParentsCatalog(t *testing.T) {
	bubble(t, func(t *testing.T, p *parent) {
		l := &listener{}
		config := p.child()
		config.Observer, config.Workloads = l, []string{"chat"}
		began := time.Now()
		c := open(t, config)
		if waited := time.Since(began); waited > time.Second {
			t.Errorf("opened after %v", waited)
		}
		if v := c.Version(); v.Generation != 1 || v.StoreID != "test" {
			t.Errorf("%+v", v)
		}
		synctest.Wait()
		if got := l.sources(); !slices.Equal(got, []string{"parent"}) {
			t.Errorf("sources %v", got)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		h := p.hello
		if !strings.HasPrefix(h.GetLeaf(), "test-") || h.GetNode() != "node-1" || h.GetLocality() != "eu/west" || h.GetIncarnation() == 0 || !slices.Equal(h.GetSubscribe().GetWorkloads(), []string{"chat"}) {
			t.Errorf("hello %v", h)
		}
		if len(p.acks) == 0 {
			t.Error("no ack")
		}
	})
}

func TestWithoutAnAnswerOpenTakesWhatItHasAfterFiveSeconds(t *testing.T) {
	bootstrap, err := clienttest.Bootstrap(resources(t)...)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "snapshot")
	if err := os.WriteFile(file, bootstrap, 0o600); err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(bad, []byte("not a state"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rule   string
		set    func(*clientlib.Config)
		source string
	}{
		{"a file first", func(c *clientlib.Config) { c.Snapshot, c.Bootstrap = file, bootstrap }, "snapshot"},
		{"then bytes", func(c *clientlib.Config) { c.Bootstrap, c.Catalog = bootstrap, &route.Catalog{} }, "bootstrap"},
		{"then a catalog", func(c *clientlib.Config) { c.Catalog = clienttest.Pool("chat") }, "catalog"},
		{"past a file that is no state", func(c *clientlib.Config) { c.Snapshot, c.Bootstrap = bad, bootstrap }, "bootstrap"},
	} {
		bubble(t, func(t *testing.T, p *parent) {
			p.silent = true
			l := &listener{}
			config := p.child()
			config.Observer = l
			c.set(&config)
			began := time.Now()
			open(t, config)
			if waited := time.Since(began).Round(time.Second); waited != 5*time.Second {
				t.Errorf("%s: opened after %v", c.rule, waited)
			}
			synctest.Wait()
			if got := l.sources(); !slices.Equal(got, []string{c.source}) {
				t.Errorf("%s: sources %v", c.rule, got)
			}
		})
	}
}

func TestTheParentsWordReplacesABootstrap(t *testing.T) {
	bubble(t, func(t *testing.T, p *parent) {
		p.server.Stop() // and back later
		l := &listener{}
		config := p.child()
		config.Observer, config.Catalog = l, clienttest.Pool("chat")
		open(t, config)
		back := adopt(p.state)
		defer back.server.Stop()
		p.move(back)
		time.Sleep(2 * time.Minute)
		if got := l.sources(); !slices.Equal(got, []string{"catalog", "parent"}) {
			t.Errorf("sources %v", got)
		}
	})
}

func TestOpenEndsWithItsContext(t *testing.T) {
	bubble(t, func(t *testing.T, p *parent) {
		p.silent = true
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		c, err := clientlib.Open(ctx, p.child())
		if c != nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v %v", c, err)
		}
	})
}

func TestAStateIsKeptOverRestarts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	bubble(t, func(t *testing.T, p *parent) {
		config := p.child()
		config.StateDir = dir
		open(t, config).Close()
	})
	bubble(t, func(t *testing.T, p *parent) {
		p.silent = true
		l := &listener{}
		config := p.child()
		config.Observer, config.StateDir, config.Catalog = l, dir, clienttest.Pool("other")
		open(t, config)
		synctest.Wait()
		if got := l.sources(); !slices.Equal(got, []string{"state"}) {
			t.Errorf("sources %v", got)
		}
	})
}

func TestWithoutASourceOpenFails(t *testing.T) {
	if _, err := clientlib.Open(t.Context(), clientlib.Config{}); err == nil || !strings.Contains(err.Error(), "no source of a catalog") {
		t.Errorf("%v", err)
	}
	if _, err := clientlib.Open(t.Context(), clientlib.Config{Bootstrap: []byte("oops")}); err == nil || !strings.Contains(err.Error(), "bootstrap") {
		t.Errorf("%v", err)
	}
	bad := clienttest.Pool("chat")
	bad.Workloads[0].Attempts.Max = 0
	if _, err := clientlib.Open(t.Context(), clientlib.Config{Catalog: bad}); err == nil || !strings.Contains(err.Error(), "attempts.max") {
		t.Errorf("%v", err)
	}
}

// fail makes calls whose one attempt fails.
func fail(t *testing.T, c *clientlib.Client, times int) {
	t.Helper()
	for range times {
		a, err := c.Workload("chat").Pick(clientlib.Request{})
		if err != nil {
			t.Fatal(err)
		}
		a.Settle(clientlib.Outcome{Kind: clientlib.Faulted})
	}
}

func TestReportsGoUpAtTheirPace(t *testing.T) {
	bubble(t, func(t *testing.T, p *parent) {
		c := open(t, p.child())
		time.Sleep(20*time.Second + 50*time.Millisecond) // between two looks, before this parent counts as silent
		if n := len(p.told()); n != 0 {
			t.Errorf("%d reports while idle", n)
		}
		fail(t, c, 1)
		time.Sleep(101 * time.Millisecond) // beyond the last instant in which it goes
		if n := len(p.told()); n != 1 {
			t.Fatalf("%d reports 100 ms after a failure: %v", n, p.told())
		}
		first := p.told()[0]
		if first.GetLeaf() != p.hello.GetLeaf() || first.GetSequence() != 1 || first.GetIncarnation() != p.hello.GetIncarnation() || first.GetRows()[0].GetAdmitFailed() != 1 {
			t.Errorf("%v", first)
		}
		before := len(p.told())
		for range 20 {
			fail(t, c, 1)
			if _, err := c.Workload("chat").Pick(clientlib.Request{}); err != nil {
				break // open by now
			}
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(time.Second)
		if n := len(p.told()) - before; n > 9 {
			t.Errorf("%d reports in two seconds", n)
		}
		c.Close()
	})
}

func TestATripIsAVoteThatStandsAndTheLastOneFalls(t *testing.T) {
	bubble(t, func(t *testing.T, p *parent) {
		c := open(t, p.child())
		fail(t, c, 3)
		if _, err := c.Workload("chat").Pick(clientlib.Request{}); !errors.Is(err, clientlib.ErrShed) {
			t.Fatalf("after three hard failures: %v", err)
		}
		time.Sleep(101 * time.Millisecond) // beyond the instant in which a second report goes
		told := p.told()
		if len(told) == 0 || len(told[len(told)-1].GetVotes()) != 1 || told[len(told)-1].GetVotes()[0].GetEndpoint() != "a" {
			t.Fatalf("%v", told)
		}
		c.Close()
	})
}

func TestCloseSendsALastReport(t *testing.T) {
	bubble(t, func(t *testing.T, p *parent) {
		c := open(t, p.child())
		a, err := c.Workload("chat").Pick(clientlib.Request{})
		if err != nil {
			t.Fatal(err)
		}
		a.Settle(clientlib.Outcome{Kind: clientlib.Served})
		began := time.Now()
		c.Close()
		if n := len(p.told()); n != 1 || time.Since(began) != 0 {
			t.Errorf("%d reports after %v", n, time.Since(began))
		}
	})
}

func TestAPermitIsAnsweredFor(t *testing.T) {
	bubble(t, func(t *testing.T, p *parent) {
		c := open(t, p.child())
		p.down <- &pb.SyncResponse{Message: &pb.SyncResponse_Grant{Grant: &pb.Grant{
			Number: 9, Term: 3, Leaf: p.hello.GetLeaf(),
			What: &pb.Grant_Permit{Permit: &pb.Permit{Endpoint: "a", Identity: 7, Class: pb.Class_CLASS_ANY, Phase: pb.Phase_PHASE_ADMIT, Round: 1, UseByUs: 1e6}},
		}}}
		time.Sleep(5 * time.Second)
		told := p.told()
		if len(told) == 0 || told[len(told)-1].GetLastGrant() != 9 || len(told[len(told)-1].GetProbes()) != 1 {
			t.Errorf("%v", told)
		}
		c.Close()
	})
}

// lease sends one of nothing for 10 s; without it the child has plenty.
func (p *parent) lease() {
	p.down <- &pb.SyncResponse{Message: &pb.SyncResponse_Grant{Grant: &pb.Grant{
		Number: 9, Term: 3, Leaf: p.hello.GetLeaf(),
		What: &pb.Grant_Lease{Lease: &pb.Lease{
			Quota: "q", DurationUs: 10e6, Parts: []*pb.LeasePart{{Dimension: pb.Dimension_DIMENSION_REQUESTS, Rate: 0, Safe: 1e9}},
		}},
	}}}
	time.Sleep(time.Second)
}

// wantLimited holds the client to it that it may send nothing more, or something.
func wantLimited(t *testing.T, c *clientlib.Client, want bool, when string) {
	t.Helper()
	a, err := c.Workload("chat").Pick(clientlib.Request{})
	a.Abandon()
	if got := errors.Is(err, clientlib.ErrShed); got != want {
		t.Errorf("%s: %v", when, err)
	}
}

func TestALeaseBindsUntilItsEnd(t *testing.T) {
	bubble(t, func(t *testing.T, p *parent) {
		c := open(t, p.child())
		wantLimited(t, c, false, "before")
		p.lease()
		wantLimited(t, c, true, "in it")
		time.Sleep(10 * time.Second)
		wantLimited(t, c, false, "after its end")
		c.Close()
	})
}

// control-plane.md, cut off: what was leased is held for 10 minutes, and given up in the next 10.
func TestALeaseOutlastsTheParentThatGaveIt(t *testing.T) {
	bubble(t, func(t *testing.T, p *parent) {
		c := open(t, p.child())
		p.lease()
		p.server.Stop()
		time.Sleep(10 * time.Minute)
		wantLimited(t, c, true, "ten minutes later")
		time.Sleep(10 * time.Minute)
		wantLimited(t, c, false, "twenty minutes later")
		c.Close()
	})
}

func TestASlowObserverDelaysNobody(t *testing.T) {
	bubble(t, func(t *testing.T, p *parent) {
		l := &listener{slow: make(chan struct{})}
		config := p.child()
		config.Observer = l
		c := open(t, config)
		for range 1000 {
			a, err := c.Workload("chat").Pick(clientlib.Request{})
			if err != nil {
				t.Fatal(err)
			}
			a.Settle(clientlib.Outcome{Kind: clientlib.Served})
			a.FirstToken() // stale: an event
			time.Sleep(time.Millisecond)
		}
		close(l.slow)
		time.Sleep(time.Second)
		a, err := c.Workload("chat").Pick(clientlib.Request{})
		if err != nil {
			t.Fatal(err)
		}
		a.Abandon()
		a.FirstToken()
		time.Sleep(time.Second)
		c.Close()
		left := 0
		for _, e := range l.events {
			if e.Kind == "dropped" {
				left += e.Count
			}
		}
		if left == 0 || len(l.events)+left < 1000 {
			t.Errorf("%d events, %d left out", len(l.events), left)
		}
	})
}

func TestTheFleetsWordRefusesToo(t *testing.T) {
	row, err := wire.EncodeFleetEndpoint(1, &route.FleetEndpoint{Name: "a", Identity: 7, At: 1, Breakers: []route.FleetBreaker{
		{State: route.FleetOpen, Round: 4, Reason: "failures", OpenUntil: 60_000_000},
	}})
	if err != nil {
		t.Fatal(err)
	}
	fleet := wire.NewState(pb.Track_TRACK_FLEET, &pb.Version{Epoch: 1, Term: 3, Sequence: 1}, map[wire.Key]wire.Entry{
		{Kind: row.GetKind(), Name: row.GetName()}: {Body: row.GetBody(), Hash: wire.HashOf(row.GetBody()), At: 1},
	})
	bubble(t, func(t *testing.T, p *parent) {
		c := open(t, p.child())
		p.down <- &pb.SyncResponse{Message: &pb.SyncResponse_Update{Update: wire.Whole(1, 1, fleet)}}
		time.Sleep(time.Second)
		_, err := c.Workload("chat").Pick(clientlib.Request{})
		var shed *clientlib.ShedError
		if !errors.As(err, &shed) || shed.Counts[route.ReasonBreakerOpen] != 1 {
			t.Errorf("%v", err)
		}
		if wait, known := c.RetryIn(err); !known || wait > time.Minute || wait < 50*time.Second {
			t.Errorf("again in %v", wait)
		}
	})
}

func TestWhatThisLibraryDoesNotKnowMakesOneWorkloadUnusable(t *testing.T) {
	all := resources(t)
	newer, err := wire.Resource(pb.Kind_KIND_WORKLOAD, "newer", &pb.Workload{Name: "newer", NeedsFeatures: []string{"telepathy"}})
	if err != nil {
		t.Fatal(err)
	}
	bootstrap, err := clienttest.Bootstrap(append(all, newer)...)
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{}
	c := open(t, clientlib.Config{Bootstrap: bootstrap, Observer: l})
	if _, err := c.Workload("newer").Pick(clientlib.Request{}); !errors.Is(err, clientlib.ErrUnusable) {
		t.Errorf("%v", err)
	}
	a, err := c.Workload("chat").Pick(clientlib.Request{})
	if err != nil {
		t.Fatal(err)
	}
	a.Abandon()
	c.Close()
	if !slices.ContainsFunc(l.events, func(e clientlib.Event) bool { return e.Kind == "unusable" && e.Workload == "newer" }) {
		t.Errorf("%+v", l.events)
	}
}

// A date is people's; the core has a clock of its own.
func TestAnEndpointRetiresOnItsDate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		catalog := clienttest.Pool("chat", &clienttest.Endpoint{Name: "a", URL: "http://127.0.0.1:1"}, &clienttest.Endpoint{Name: "b", URL: "http://127.0.0.1:2"})
		catalog.Endpoints[0].Retires = time.Now().Add(time.Hour).UnixMicro()
		c := open(t, clientlib.Config{Catalog: catalog})
		time.Sleep(time.Hour - time.Second)
		before := c.Explain("chat", clientlib.Request{API: "openai.chat"}).Candidates
		time.Sleep(time.Second)
		after := c.Explain("chat", clientlib.Request{API: "openai.chat"}).Candidates
		if before[0].Reason != route.Pass || after[0].Reason != route.ReasonRetired || after[1].Reason != route.Pass {
			t.Errorf("a second before %v, then %v", before, after)
		}
	})
}
