package agent

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/test/bufconn"

	"github.com/pointsman/pointsman/agent/engine"
	"github.com/pointsman/pointsman/agent/probe"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// servers makes a catalog with one endpoint whose model servers are instances, one of them in
// another region, and one that is hosted.
func serversState(t *testing.T) *wire.State {
	t.Helper()
	s := chat(t, "own", "far", "hosted")
	entries := map[wire.Key]wire.Entry{}
	for k, e := range s.All() {
		entries[k] = e
	}
	for _, e := range []*pb.Endpoint{
		{Name: "own", Provider: "p", Model: "m", Apis: []string{"openai.chat"}, Region: "eu/west", Metrics: "vllm", Instances: &pb.Instances{Dns: "vllm:8000"}, Breaker: &pb.BreakerPolicy{MaxEjected: 0.5}},
		{Name: "far", Provider: "p", Model: "m", Apis: []string{"openai.chat"}, Region: "us", Metrics: "vllm", Instances: &pb.Instances{Addresses: []string{"10.9.0.1:80"}}, Breaker: &pb.BreakerPolicy{MaxEjected: 0.5}},
		{Name: "hosted", Provider: "p", Model: "m", Apis: []string{"openai.chat"}, Metrics: "vllm", Breaker: &pb.BreakerPolicy{MaxEjected: 0.5}},
	} {
		r, err := wire.Resource(pb.Kind_KIND_ENDPOINT, e.Name, e)
		if err != nil {
			t.Fatal(err)
		}
		entries[wire.Key{Kind: r.Kind, Name: r.Name}] = wire.Entry{Body: r.Body, Hash: wire.HashOf(r.Body)}
	}
	return wire.NewState(pb.Track_TRACK_CATALOG, s.Version(), entries)
}

// instancesState is the fleet's word on where instances are.
func instancesState(t *testing.T, sequence uint64, addresses ...string) *wire.State {
	t.Helper()
	m := &pb.FleetInstances{Endpoint: "own"}
	for _, a := range addresses {
		m.Instances = append(m.Instances, &pb.FleetInstance{Address: a})
	}
	r, err := wire.Resource(pb.Kind_KIND_FLEET_INSTANCES, "own", m)
	if err != nil {
		t.Fatal(err)
	}
	return wire.NewState(pb.Track_TRACK_FLEET, &pb.Version{StoreId: "s", Epoch: 1, Term: 2, Sequence: sequence},
		map[wire.Key]wire.Entry{{Kind: r.Kind, Name: r.Name}: {Body: r.Body, Hash: wire.HashOf(r.Body)}})
}

// node is a witness whose network is in memory: 10.0.0.x answer with metrics, others refuse.
type node struct {
	*witness
	mu     sync.Mutex
	said   []*pb.NodeReport
	refuse map[string]bool
	stop   func()
}

func startNode(locality string, s *sight, clock func() int64) *node {
	n := &node{refuse: map[string]bool{}}
	l := bufconn.Listen(1 << 20)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("vllm:num_requests_running 5\n"))
	})}
	dial := func(ctx context.Context, _, address string) (net.Conn, error) {
		n.mu.Lock()
		refused := n.refuse[address]
		n.mu.Unlock()
		if refused {
			return nil, errors.New("refused")
		}
		return l.DialContext(ctx)
	}
	n.witness = &witness{node: "n", locality: locality, incarnation: 7, now: clock, sight: s, up: func(_ int64, r *pb.Report) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.said = append(n.said, r.Nodes...)
	}}
	n.reader = engine.New(engine.Config{Targets: func() []engine.Target { return s.scene().engines }, Dial: dial, Now: clock})
	n.prober = probe.New(probe.Config{Targets: func() []probe.Target { return s.scene().addresses }, Dial: dial, Now: clock})
	served := run(func(context.Context) { _ = server.Serve(l) })
	running := run(n.run)
	n.stop = func() { running.stop(); _ = server.Close(); served.stop() }
	return n
}

func (n *node) refuses(address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refuse[address] = true
}

func (n *node) heard() []*pb.NodeReport {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := n.said
	n.said = nil
	return out
}

func TestANodeReportsWhatItSeesOfItsViewsAndCountsItsReports(t *testing.T) {
	catalog, fleet := serversState(t), instancesState(t, 1, "10.0.0.1:8000", "10.0.0.2:8000")
	synctest.Test(t, func(t *testing.T) {
		s := newSight("eu/west", now)
		s.saw(1, catalog)
		s.saw(1, fleet)
		n := startNode("eu/west", s, now)
		defer n.stop()
		n.refuses("10.0.0.2:8000")
		time.Sleep(21 * time.Second)
		engines, reaches, last := map[string]float64{}, map[string]bool{}, uint64(0)
		for _, r := range n.heard() {
			if r.Node != "n" || r.Locality != "eu/west" || r.Incarnation != 7 || r.Sequence != last+1 {
				t.Fatalf("report %d after %d: %v", r.Sequence, last, r)
			}
			last = r.Sequence
			for _, e := range r.Engines {
				engines[e.Endpoint] = e.GetRunning()
			}
			for _, v := range r.Reaches {
				reaches[v.Endpoint] = v.Reached
			}
		}
		if len(engines) != 1 || engines["own@10.0.0.1:8000"] != 5 {
			t.Errorf("engines: %v: want the one of this region that answers", engines)
		}
		if len(reaches) != 4 || !reaches["own@10.0.0.1:8000"] || reaches["own@10.0.0.2:8000"] || !reaches["far@10.9.0.1:80"] || !reaches["hosted"] {
			t.Errorf("reaches: %v", reaches)
		}
		if last > 21 {
			t.Errorf("%d reports in 21 s", last)
		}
	})
}

func TestANodeThatSeesNothingSaysNothingAndOneThatSeesNoChangeSaysSoEachTenSeconds(t *testing.T) {
	catalog := chat(t, "hosted")
	synctest.Test(t, func(t *testing.T) {
		s := newSight("", now)
		n := startNode("", s, now)
		defer n.stop()
		time.Sleep(time.Minute)
		if all := n.heard(); len(all) > 0 {
			t.Errorf("said %v", all)
		}
		s.saw(1, catalog)
		time.Sleep(30 * time.Second)
		n.heard()
		time.Sleep(100 * time.Second)
		if k := len(n.heard()); k < 9 || k > 11 {
			t.Errorf("%d reports in 100 s without a change", k)
		}
		n.refuses("127.0.0.1:1")
		time.Sleep(20 * time.Second)
		found := false
		for _, r := range n.heard() {
			for _, v := range r.Reaches {
				found = found || !v.Reached && v.Reason != ""
			}
		}
		if !found {
			t.Error("a change was not said")
		}
	})
}

// protocol.md, rule 1: instances stay when the fleet's state says nothing of them any more.
func TestInstancesStayInSightUntilTheyAreTakenBack(t *testing.T) {
	catalog := serversState(t)
	first, none, taken := instancesState(t, 1, "10.0.0.1:8000"), wire.NewState(pb.Track_TRACK_FLEET, &pb.Version{StoreId: "s", Epoch: 1, Term: 3}, nil), instancesState(t, 2)
	synctest.Test(t, func(t *testing.T) {
		s := newSight("", now)
		for _, step := range []struct {
			state *wire.State
			want  bool
		}{{first, true}, {none, true}, {taken, false}} {
			s.saw(1, catalog)
			s.saw(1, step.state)
			time.Sleep(2 * time.Second)
			if _, ok := s.scene().endpoints["own@10.0.0.1:8000"]; ok != step.want {
				t.Errorf("at %v: %v", step.state.Version(), ok)
			}
		}
		s.lost(1)
		time.Sleep(2 * time.Second)
		if k := len(s.scene().endpoints); k > 0 {
			t.Errorf("%d endpoints of a view that is gone", k)
		}
	})
}

func TestANodeReadsModelServersNearIt(t *testing.T) {
	for _, c := range []struct {
		locality, region string
		want             bool
	}{
		{"", "us", true}, {"eu", "", true}, {"eu/west", "eu/west", true}, {"eu/west/a", "eu/west", true}, {"eu", "eu/west", true},
		{"eu/west", "eu/east", false}, {"eu", "us", false}, {"eu/west", "eu/westward", false},
	} {
		if got := near(c.locality, c.region); got != c.want {
			t.Errorf("%q of %q: %v", c.locality, c.region, got)
		}
	}
}

// What an agent sees goes up through the agents above it, once, as old as it is.
func TestWhatANodeSawPassesRelaysOnceAndAges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startChain(t, catalog(1, "a"))
		defer c.stop()
		time.Sleep(3 * time.Second)
		c.replica.heard()
		r := c.agents["far"].relay
		r.up(r.now(), &pb.Report{Nodes: []*pb.NodeReport{{Node: "far", Incarnation: r.incarnation, Sequence: 1, AgeUs: 1000, Engines: []*pb.EngineLoad{{Endpoint: "a@10.0.0.1:80"}}}}})
		time.Sleep(5 * time.Second)
		got := c.replica.heard().Nodes
		if len(got) != 1 || got[0].Node != "far" || got[0].Sequence != 1 || len(got[0].Engines) != 1 {
			t.Fatalf("heard %v", got)
		}
		if got[0].AgeUs < 1000 || got[0].AgeUs > 5e6 {
			t.Errorf("%d µs old", got[0].AgeUs)
		}
	})
}
