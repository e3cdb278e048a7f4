package rpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/pointsman/pointsman/clientlib/wire"
	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// etcd's own, one for the process.
		goleak.IgnoreTopFunction("go.etcd.io/etcd/client/pkg/v3/logutil.(*MergeLogger).outputLoop"),
	)
}

// world is the services over a store of their own. What they call live is what the
// store holds at that moment, with what a test adds.
type world struct {
	pb.CatalogServiceClient
	fleet    pb.FleetServiceClient
	operator pb.OperatorServiceClient
	conn     *grpc.ClientConn
	store    *store.Store
	leaves   []*pb.LeafState
	with     func(*Live)
}

const now = int64(1e9)

func newWorld(t *testing.T, more ...func(*Config)) *world {
	t.Helper()
	st, err := store.Open(t.Context(), store.Config{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{store: st, with: func(*Live) {}}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(40<<20), grpc.WaitForHandlers(true))
	c := Config{
		Store: st, Namespace: DefaultNamespace, Version: "v1", Now: func() int64 { return now },
		Live: func() Live { return w.live(t) }, Leaves: func() []*pb.LeafState { return w.leaves },
	}
	for _, f := range more {
		f(&c)
	}
	Register(server, c)
	listener := bufconn.Listen(1 << 20)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///test", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		server.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		st.Close()
	})
	w.CatalogServiceClient, w.fleet, w.operator = pb.NewCatalogServiceClient(conn), pb.NewFleetServiceClient(conn), pb.NewOperatorServiceClient(conn)
	w.conn = conn
	return w
}

// live is what a replica would serve now.
func (w *world) live(t *testing.T) Live {
	ctx := context.Background()
	head, err := w.store.Head(ctx, DefaultNamespace)
	if err != nil {
		t.Error(err)
		return Live{}
	}
	live := Live{Head: head, Confirmed: time.Now()}
	if live.Overrides, err = w.store.Overrides(ctx, DefaultNamespace); err != nil {
		t.Error(err)
	}
	entries := map[wire.Key]wire.Entry{}
	add := func(r *pb.Resource, at int64) {
		entries[wire.Key{Kind: r.GetKind(), Name: r.GetName()}] = wire.Entry{Body: r.GetBody(), Hash: wire.HashOf(r.GetBody()), At: at}
	}
	for _, o := range live.Overrides {
		r, err := wire.Override(o.GetOverride())
		if err != nil {
			t.Error(err)
		}
		add(r, now)
	}
	_, content, err := w.store.Revision(ctx, DefaultNamespace, head.GetServing())
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	for _, r := range content.GetResources() {
		add(r, 0)
	}
	if head.GetServing() != 0 {
		live.Catalog = wire.NewState(pb.Track_TRACK_CATALOG, &pb.Version{
			StoreId: head.GetStoreId(), Epoch: head.GetEpoch(), Generation: head.GetGeneration(), Revision: head.GetServing(),
		}, entries)
	}
	w.with(&live)
	return live
}

// sources are a catalog with these workloads, each with its own endpoints a tier of one.
func sources(price string, workloads ...string) *pb.Sources {
	text := fmt.Sprintf(`
model "m" {
  artifact          = "m@1"
  capabilities      = ["chat", "stream"]
  context_window    = 32768
  max_output_tokens = 4096
  price {
    input  = %q
    output = "2.00"
  }
}
provider "p" {
  dialect  = "vllm"
  base_url = "https://p.example/v1"
}
`, price)
	for _, w := range workloads {
		text += strings.ReplaceAll(`
endpoint "NAME-a" {
  provider   = provider.p
  model      = model.m
  wire_model = "NAME-a"
  apis       = ["openai.chat"]
}
endpoint "NAME-b" {
  provider   = provider.p
  model      = model.m
  wire_model = "NAME-b"
  apis       = ["openai.chat"]
}
workload "NAME" {
  apis = ["openai.chat"]
  contract { requires = ["chat"] }
  tier "first" { endpoints = [endpoint.NAME-a] }
  tier "second" { endpoints = [endpoint.NAME-b] }
  balance "p2c" {}
}
`, "NAME", w)
	}
	return &pb.Sources{Files: []*pb.SourceFile{{Name: "catalog.hcl", Content: []byte(text)}}}
}

func (w *world) publish(t *testing.T, base uint64, src *pb.Sources) *pb.PublishResponse {
	t.Helper()
	r, err := w.Publish(t.Context(), &pb.PublishRequest{Sources: src, Base: base, Author: "ann", Message: "m"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// wantCode checks an error, and gives back the reason of its ErrorInfo.
func wantCode(t *testing.T, err error, want codes.Code, says ...string) (reason string) {
	t.Helper()
	s := status.Convert(err)
	if s.Code() != want {
		t.Fatalf("%v: %s, want %v", s.Code(), s.Message(), want)
	}
	for _, text := range says {
		if !strings.Contains(s.Message(), text) {
			t.Errorf("it does not say %q: %s", text, s.Message())
		}
	}
	return detail[*errdetails.ErrorInfo](err).GetReason()
}

// detail is the error's detail of a type; nil: it has none.
func detail[D any](err error) (none D) {
	for _, d := range status.Convert(err).Details() {
		if d, ok := d.(D); ok {
			return d
		}
	}
	return none
}

func serving(h *pb.Head) string {
	return fmt.Sprintf("generation %d published %d serving %d pin %d pins %d",
		h.GetGeneration(), h.GetPublished(), h.GetServing(), h.GetPin(), len(h.GetPins()))
}

func wantServing(t *testing.T, h *pb.Head, want string) {
	t.Helper()
	if got := serving(h); got != want {
		t.Fatalf("%s, want %s", got, want)
	}
}
