package agent

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// chat is a catalog with the workload "chat" over endpoints of these names.
func chat(t *testing.T, names ...string) *wire.State {
	t.Helper()
	type body struct {
		kind pb.Kind
		name string
		m    proto.Message
	}
	bodies := []body{
		{pb.Kind_KIND_MODEL, "m", &pb.Model{Name: "m", Artifact: "m@1", Capabilities: []string{"chat"}, ContextWindow: 8000, MaxOutputTokens: 4000, Price: &pb.Price{}}},
		{pb.Kind_KIND_PROVIDER, "p", &pb.Provider{Name: "p", Dialect: "vllm", BaseUrl: "http://127.0.0.1:1/v1"}},
		{pb.Kind_KIND_WORKLOAD, "chat", &pb.Workload{
			Name: "chat", Apis: []string{"openai.chat"}, Contract: &pb.Contract{}, Tiers: []*pb.Tier{{Name: "all", Endpoints: names}},
			Balance: &pb.Balance{Strategy: "p2c"}, Deliver: pb.Deliver_DELIVER_LIVE, OnFilter: pb.OnFilter_ON_FILTER_RETURN,
			Attempts: &pb.AttemptsPolicy{Max: 1, RetryRatio: 0.1, RetryReserve: 10, ConnectUs: 2e6, FirstTokenUs: 10e6, AnswerUs: 180e6, StallUs: 20e6, TotalUs: 600e6},
		}},
	}
	policy := &pb.BreakerPolicy{
		WindowUs: 5e6, SlowWindowUs: 60e6, MinSamples: 20, Consecutive: 3, FailureRatio: 0.5,
		CooldownUs: 5e6, CooldownMaxUs: 120e6, Probes: 3, RampUs: 30e6, MaxEjected: 0.5,
	}
	for i, name := range names {
		bodies = append(bodies, body{pb.Kind_KIND_ENDPOINT, name, &pb.Endpoint{
			Name: name, Identity: uint64(i + 1), Provider: "p", Model: "m", WireModel: "m-1", Apis: []string{"openai.chat"}, Breaker: policy,
		}})
	}
	var all []*pb.Resource
	for _, b := range bodies {
		r, err := wire.Resource(b.kind, b.name, b.m)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	b, err := clienttest.Bootstrap(all...)
	if err != nil {
		t.Fatal(err)
	}
	s, err := wire.Read(1, b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// kept is what an agent at a place keeps.
func kept(t *testing.T, at place, q *pb.ListRecordsRequest) (all []*pb.Record) {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:x", append(at.dial(), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s, err := pb.NewRecordServiceClient(conn).ListRecords(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for {
		m, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m.Records...)
	}
}

// F1, B4: what a library decides is with its agent a second later, is still there after
// the agent's restart, and comes out the same when it is decided again.
func TestDecisionsAreKeptByTheAgentAndReplay(t *testing.T) {
	catalog, dir := chat(t, "a", "b", "c"), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		top, bottom := newPlace(), newPlace()
		r := serveReplica(top, catalog)
		defer r.stop()
		a := serveAgent(t, Config{Node: "n", Dir: dir}, top, bottom)
		c, err := clientlib.Open(t.Context(), clientlib.Config{Parents: parents, Dial: append(bottom.dial(), plainText), Name: "lib"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 300 {
			at, err := c.Workload("chat").Pick(clientlib.Request{Input: 100})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(1+i%7) * time.Millisecond)
			at.FirstToken()
			at.Settle(clientlib.Outcome{Kind: clientlib.Served})
		}
		time.Sleep(2 * time.Second)
		if n := len(kept(t, bottom, &pb.ListRecordsRequest{Kind: pb.RecordKind_RECORD_KIND_ATTEMPT})); n != 300 {
			t.Errorf("%d attempts are kept", n)
		}
		if events := kept(t, bottom, &pb.ListRecordsRequest{Kind: pb.RecordKind_RECORD_KIND_EVENT, Outcome: "source"}); len(events) != 1 || events[0].GetEvent().Name != "parent" {
			t.Errorf("events: %v", events)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		a.stop()

		bottom = newPlace()
		a = serveAgent(t, Config{Node: "n", Dir: dir}, top, bottom)
		defer a.stop()
		used, drawn := map[string]int{}, 0
		for _, r := range kept(t, bottom, &pb.ListRecordsRequest{Workload: "chat"}) {
			d := wire.Decision(r.GetAttempt().Decision)
			got, err := route.Replay(&d)
			if err != nil || got != r.GetAttempt().Endpoint {
				t.Fatalf("record %d went to %s, and now: %q, %v", r.Id, r.GetAttempt().Endpoint, got, err)
			}
			used[got]++
			if d.Drawn == 2 {
				drawn++
			}
		}
		if used["a"]+used["b"]+used["c"] != 300 || len(used) != 3 || drawn < 100 {
			t.Errorf("replayed %v, %d of two candidates", used, drawn)
		}
	})
}

var plainText = grpc.WithTransportCredentials(insecure.NewCredentials())

func TestAnAgentThatIsToKeepNothingIsSentNothing(t *testing.T) {
	catalog, dir := chat(t, "a"), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		top, bottom := newPlace(), newPlace()
		r := serveReplica(top, catalog)
		defer r.stop()
		a := serveAgent(t, Config{Node: "n", Dir: dir, RecordsMiB: -1}, top, bottom)
		defer a.stop()
		c, err := clientlib.Open(context.Background(), clientlib.Config{Parents: parents, Dial: append(bottom.dial(), plainText)})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		time.Sleep(3 * time.Second)
		if all := kept(t, bottom, &pb.ListRecordsRequest{}); len(all) > 0 {
			t.Errorf("kept %v", all)
		}
		if files, err := filepath.Glob(filepath.Join(dir, "records")); err != nil || len(files) > 0 {
			t.Errorf("%v, %v", files, err)
		}
	})
}
