package clientlib_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// parent is a parent that gives one catalog and remembers what it was told.
type parent struct {
	pb.UnimplementedSyncServiceServer
	server *grpc.Server
	state  *wire.State
	silent bool // hears and says nothing
	keeps  bool // records

	mu       sync.Mutex // guards what follows
	listener *bufconn.Listener
	hello    *pb.Hello
	acks     []*pb.Ack
	nacks    []*pb.Nack
	reports  []*pb.LeafReport
	records  []*pb.Records
	answer   *pb.Answer // the last
	down     chan *pb.SyncResponse
}

// adopt makes a parent of a state. It ends with Stop.
func adopt(s *wire.State) *parent {
	p := &parent{listener: bufconn.Listen(1 << 16), server: grpc.NewServer(), state: s, down: make(chan *pb.SyncResponse, 8)}
	pb.RegisterSyncServiceServer(p.server, p)
	go p.server.Serve(p.listener)
	return p
}

func (p *parent) at() *bufconn.Listener {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.listener
}

// move has children find another parent at this one's address.
func (p *parent) move(to *parent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listener = to.listener
}

// child is what reaches it.
func (p *parent) child() clientlib.Config {
	return clientlib.Config{
		Parents: []string{"127.0.0.1:1"}, Name: "test", Node: "node-1", Locality: "eu/west",
		Dial: []grpc.DialOption{
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return p.at().DialContext(ctx) }),
		},
	}
}

func (p *parent) Sync(s pb.SyncService_SyncServer) error {
	if p.silent {
		<-s.Context().Done()
		return nil
	}
	var sequence atomic.Uint64
	for first := true; ; first = false {
		m, err := s.Recv()
		if err != nil {
			return nil
		}
		sequence.Store(m.GetSequence())
		p.note(m)
		if !first {
			continue
		}
		if err := s.Send(&pb.SyncResponse{Seen: sequence.Load(), Message: &pb.SyncResponse_Update{Update: wire.Whole(1, 1, p.state)}}); err != nil {
			return err
		}
		if err := s.Send(&pb.SyncResponse{Seen: sequence.Load(), Message: &pb.SyncResponse_Heartbeat{
			Heartbeat: &pb.Heartbeat{KeepsRecords: p.keeps},
		}}); err != nil {
			return err
		}
		go func() {
			for {
				select {
				case m := <-p.down:
					m.Seen = sequence.Load()
					_ = s.Send(m)
				case <-s.Context().Done():
					return
				}
			}
		}()
	}
}

func (p *parent) note(m *pb.SyncRequest) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch what := m.GetMessage().(type) {
	case *pb.SyncRequest_Hello:
		p.hello = what.Hello
	case *pb.SyncRequest_Ack:
		p.acks = append(p.acks, what.Ack)
	case *pb.SyncRequest_Nack:
		p.nacks = append(p.nacks, what.Nack)
	case *pb.SyncRequest_Report:
		p.reports = append(p.reports, what.Report.GetLeaves()...)
	case *pb.SyncRequest_Records:
		p.records = append(p.records, what.Records)
	case *pb.SyncRequest_Answer:
		p.answer = what.Answer
	}
}

func (p *parent) told() []*pb.LeafReport {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reports
}

// resources are a catalog with one workload, "chat", and one endpoint, "a", that draws on
// the quota "q".
func resources(t *testing.T) []*pb.Resource {
	t.Helper()
	plenty := int64(1e9)
	policy := &pb.BreakerPolicy{
		WindowUs: 5e6, SlowWindowUs: 60e6, MinSamples: 20, Consecutive: 3, FailureRatio: 0.5,
		CooldownUs: 5e6, CooldownMaxUs: 120e6, Probes: 3, RampUs: 30e6, MaxEjected: 0.5,
	}
	var all []*pb.Resource
	for _, r := range []struct {
		kind pb.Kind
		name string
		body proto.Message
	}{
		{pb.Kind_KIND_MODEL, "m", &pb.Model{Name: "m", Artifact: "m@1", Capabilities: []string{"chat", "stream"}, ContextWindow: 8000, MaxOutputTokens: 4000, Price: &pb.Price{}}},
		{pb.Kind_KIND_PROVIDER, "p", &pb.Provider{Name: "p", Dialect: "vllm", BaseUrl: "http://127.0.0.1:1/v1"}},
		{pb.Kind_KIND_QUOTA, "q", &pb.Quota{Name: "q", RequestsPerMinute: &plenty}},
		{pb.Kind_KIND_ENDPOINT, "a", &pb.Endpoint{Name: "a", Identity: 7, Provider: "p", Model: "m", WireModel: "m-1", Apis: []string{"openai.chat"}, Quotas: []string{"q"}, Breaker: policy}},
		{pb.Kind_KIND_WORKLOAD, "chat", &pb.Workload{
			Name: "chat", Apis: []string{"openai.chat"}, Contract: &pb.Contract{}, Tiers: []*pb.Tier{{Name: "all", Endpoints: []string{"a"}}},
			Balance: &pb.Balance{Strategy: "p2c"}, Deliver: pb.Deliver_DELIVER_LIVE, OnFilter: pb.OnFilter_ON_FILTER_RETURN,
			Attempts: &pb.AttemptsPolicy{Max: 1, RetryRatio: 0.1, RetryReserve: 10, ConnectUs: 2e6, FirstTokenUs: 10e6, AnswerUs: 180e6, StallUs: 20e6, TotalUs: 600e6},
		}},
	} {
		resource, err := wire.Resource(r.kind, r.name, r.body)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, resource)
	}
	return all
}

func state(t *testing.T) *wire.State {
	t.Helper()
	b, err := clienttest.Bootstrap(resources(t)...)
	if err != nil {
		t.Fatal(err)
	}
	s, err := wire.Read(1, b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// bubble runs a story in virtual time with a parent.
func bubble(t *testing.T, story func(*testing.T, *parent)) {
	t.Helper()
	s := state(t)
	synctest.Test(t, func(t *testing.T) {
		p := adopt(s)
		defer p.server.Stop()
		story(t, p)
	})
}
