package rpc

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// mixed is one workload over two models, of which one can do more, in two regions and for two
// tenants, of which one may be in one region only; and a tool.
const mixed = `
model "plain" {
  artifact          = "m@1"
  capabilities      = ["chat"]
  context_window    = 32768
  max_output_tokens = 4096
  price {
    input  = "1"
    output = "2"
  }
}
model "able" {
  artifact          = "m@1"
  capabilities      = ["chat", "vision"]
  context_window    = 32768
  max_output_tokens = 4096
  price {
    input  = "1"
    output = "2"
  }
}
provider "p" {
  dialect  = "vllm"
  base_url = "https://p.example/v1"
}
provider "h" {
  dialect  = "http"
  base_url = "https://h.example/v1"
}
endpoint "able" {
  provider = provider.p
  model    = model.able
  apis     = ["openai.chat"]
  region   = "us"
  weight   = 100
}
endpoint "eu" {
  provider = provider.p
  model    = model.plain
  apis     = ["openai.chat"]
  region   = "eu"
  weight   = 200
}
endpoint "us" {
  provider = provider.p
  model    = model.plain
  apis     = ["openai.chat"]
  region   = "us"
  weight   = 100
}
endpoint "tool" {
  provider = provider.h
  apis     = ["http"]
}
workload "chat" {
  apis = ["openai.chat"]
  contract { requires = ["chat"] }
  tier "one" { endpoints = [endpoint.able, endpoint.eu, endpoint.us] }
}
tool "rates" {
  apis = ["http"]
  tier "one" { endpoints = [endpoint.tool] }
}
tenant "any" { workloads = ["chat"] }
tenant "resident" {
  workloads = ["chat"]
  regions   = ["eu"]
}
`

func mixedWorld(t *testing.T) *world {
	w := newWorld(t)
	w.publish(t, 0, &pb.Sources{Files: []*pb.SourceFile{{Name: "catalog.hcl", Content: []byte(mixed)}}})
	return w
}

func TestADrainStrandsWhoeverHasNothingLeftForOneNeedOrTenant(t *testing.T) {
	w := mixedWorld(t)
	_, err := w.drain(t, "able")
	wantCode(t, err, codes.FailedPrecondition, "nothing is left for chat with vision of tenant any")
	_, err = w.drain(t, "eu")
	wantCode(t, err, codes.FailedPrecondition, "nothing is left for chat of tenant resident")
	if _, err := w.drain(t, "us"); err != nil {
		t.Fatal(err)
	}
}

func TestADrainIsHeldAgainstTheDrainsThatAreStoredNotThoseThatAreServed(t *testing.T) {
	w := newWorld(t)
	w.publish(t, 0, sources("1.00", "chat"))
	lagging := w.live(t)
	w.with = func(l *Live) { *l = lagging }
	if _, err := w.drain(t, "chat-a"); err != nil {
		t.Fatal(err)
	}
	_, err := w.drain(t, "chat-b")
	wantCode(t, err, codes.FailedPrecondition, "for chat")
}

func TestOfDrainsAtOnceOneLeavesSomething(t *testing.T) {
	w := newWorld(t)
	w.publish(t, 0, sources("1.00", "chat"))
	done := make(chan error, 2)
	for _, name := range []string{"chat-a", "chat-b"} {
		go func() {
			_, err := w.drain(t, name)
			done <- err
		}()
	}
	one, other := <-done, <-done
	if (one == nil) == (other == nil) {
		t.Fatal(one, other)
	}
}

func TestACandidatesShareIsThatOfItsTiersDraws(t *testing.T) {
	w := mixedWorld(t)
	got := func(q *pb.ExplainRequest) map[string]float64 {
		x, err := w.fleet.Explain(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		shares := map[string]float64{}
		for _, c := range x.GetCandidates() {
			shares[c.GetEndpoint()] = c.GetShare()
		}
		return shares
	}
	if d := cmp.Diff(map[string]float64{"able": 0.25, "eu": 0.5, "us": 0.25}, got(&pb.ExplainRequest{Workload: "chat", Tenant: "any"})); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]float64{"able": 0, "eu": 1, "us": 0}, got(&pb.ExplainRequest{Workload: "chat", Tenant: "resident"})); d != "" {
		t.Error("what a gate refuses is drawn:", d)
	}
}

func TestAToolIsNoWorkload(t *testing.T) {
	w := mixedWorld(t)
	s, err := w.fleet.Status(t.Context(), &pb.StatusRequest{})
	if err != nil || s.GetWorkloads() != 1 {
		t.Errorf("%d workloads, %v", s.GetWorkloads(), err)
	}
	_, err = w.Pin(t.Context(), &pb.PinRequest{Revision: 1, Workload: "rates", Reason: "test"})
	wantCode(t, err, codes.NotFound, `revision 1 has no workload "rates"`)
}
