package rpc

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func forced(endpoint string, open bool) *pb.SetOverrideRequest {
	return &pb.SetOverrideRequest{Override: &pb.Override{
		Endpoint: endpoint, What: &pb.Override_Breaker{Breaker: &pb.ForcedBreaker{Open: open}}, Actor: "ann", Reason: "test",
	}}
}

func weighing(endpoint string, weight int64) *pb.SetOverrideRequest {
	return &pb.SetOverrideRequest{Override: &pb.Override{Endpoint: endpoint, What: &pb.Override_Weight{Weight: weight}, Reason: "test"}}
}

// words are the stored overrides, as "endpoint drain", "endpoint breaker" and so on.
func (w *world) words(t *testing.T) []string {
	t.Helper()
	all, err := w.store.Overrides(t.Context(), DefaultNamespace)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, o := range all {
		switch o.GetOverride().GetWhat().(type) {
		case *pb.Override_Drain:
			out = append(out, o.GetOverride().GetEndpoint()+" drain")
		case *pb.Override_Breaker:
			out = append(out, o.GetOverride().GetEndpoint()+" breaker")
		case *pb.Override_Weight:
			out = append(out, o.GetOverride().GetEndpoint()+" weight")
		}
	}
	return out
}

// lastAct is who did what to whom last.
func (w *world) lastAct(t *testing.T) string {
	t.Helper()
	all, err := w.store.Audit(t.Context(), DefaultNamespace, store.AuditQuery{})
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	r := all[len(all)-1].Record
	return r.GetActor() + " " + r.GetVerb() + " " + r.GetSubject()
}

func TestABreakerForcedOpenOrNoWeightStrandsAsADrainDoes(t *testing.T) {
	for name, last := range map[string]*pb.SetOverrideRequest{"forced open": forced("chat-b", true), "weight 0": weighing("chat-b", 0)} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.publish(t, 0, sources("1.00", "chat"))
			if _, err := w.fleet.SetOverride(t.Context(), forced("chat-a", true)); err != nil {
				t.Fatal(err)
			}
			_, err := w.fleet.SetOverride(t.Context(), last)
			if reason := wantCode(t, err, codes.FailedPrecondition, `without endpoint "chat-b" nothing is left for chat`); reason != ReasonStrands {
				t.Error(reason)
			}
			_, err = w.drain(t, "chat-b")
			wantCode(t, err, codes.FailedPrecondition, "for chat")
			last.Force = true
			if _, err := w.fleet.SetOverride(t.Context(), last); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAnInstanceIsOverriddenByItsNameAndOnlyOneThatIsThere(t *testing.T) {
	w := newWorld(t)
	w.publish(t, 0, instanced(instanced(sources("1.00", "chat"), "chat-a", `dns("vllm.example:80")`), "chat-b", `["10.0.0.9:80"]`))
	w.with = func(l *Live) { l.Fleet = instancesOf(t, l.Catalog, "chat-a", "10.0.0.1:80", "10.0.0.2:80") }
	for _, name := range []string{"chat-a@10.0.0.3:80", "chat-b@10.0.0.1:80", "chat-b@", "chat-c@10.0.0.1:80"} {
		_, err := w.drain(t, name)
		wantCode(t, err, codes.NotFound, name)
	}
	for _, name := range []string{"chat-b@10.0.0.9:80", "chat-a@10.0.0.1:80"} {
		if _, err := w.drain(t, name); err != nil {
			t.Fatal(name, err)
		}
	}
	_, err := w.drain(t, "chat-a@10.0.0.2:80")
	wantCode(t, err, codes.FailedPrecondition, "nothing is left for chat")
	r, err := w.fleet.ListEndpoints(t.Context(), &pb.ListEndpointsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var drained []string
	for _, e := range r.GetEndpoints() {
		if len(e.GetOverrides()) > 0 {
			drained = append(drained, e.GetName())
		}
	}
	if diff := cmp.Diff([]string{"chat-a@10.0.0.1:80", "chat-b@10.0.0.9:80"}, drained); diff != "" {
		t.Error(diff)
	}
	if _, err := w.fleet.SetOverride(t.Context(), forced("chat-a@10.0.0.1:80", false)); err != nil {
		t.Fatal(err)
	}
	b, err := w.fleet.ListBreakers(t.Context(), &pb.ListBreakersRequest{})
	if err != nil || len(b.GetBreakers()) != 1 || b.GetBreakers()[0].GetForced() == nil {
		t.Error(b, err)
	}
}

func TestAnOverrideReplacesOneOfItsKindOnly(t *testing.T) {
	w := newWorld(t)
	w.publish(t, 0, sources("1.00", "chat"))
	for _, r := range []*pb.SetOverrideRequest{weighing("chat-a", 0), weighing("chat-a", 50), forced("chat-a", true), forced("chat-a", false), weighing("chat-b", 0)} {
		if _, err := w.fleet.SetOverride(t.Context(), r); err != nil {
			t.Fatalf("%v: %v", r, err)
		}
	}
	if diff := cmp.Diff([]string{"chat-a breaker", "chat-a weight", "chat-b weight"}, w.words(t)); diff != "" {
		t.Error(diff)
	}
}

func TestAWeightLeavesABreakerForcedClosed(t *testing.T) {
	w := newWorld(t)
	w.publish(t, 0, sources("1.00", "chat"))
	if _, err := w.drain(t, "chat-a"); err != nil {
		t.Fatal(err)
	}
	w.with = func(l *Live) { l.Fleet = openAt(t, l.Catalog, "chat-b") }
	if _, err := w.fleet.SetOverride(t.Context(), forced("chat-b", false)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.fleet.SetOverride(t.Context(), weighing("chat-b", 50)); err != nil {
		t.Error("as if its breaker were open again:", err)
	}
	_, err := w.fleet.SetOverride(t.Context(), weighing("chat-b", 0))
	wantCode(t, err, codes.FailedPrecondition, "for chat")
}

func TestAnOverrideIsTakenBackByItsKind(t *testing.T) {
	w := newWorld(t)
	w.publish(t, 0, sources("1.00", "chat"))
	for _, r := range []*pb.SetOverrideRequest{weighing("chat-a", 50), forced("chat-a", false)} {
		if _, err := w.fleet.SetOverride(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	named := metadata.AppendToOutgoingContext(t.Context(), UserKey, "zoë")
	if _, err := w.fleet.RemoveOverride(named, &pb.RemoveOverrideRequest{Endpoint: "chat-a", Kind: "breaker"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"chat-a weight"}, w.words(t)); diff != "" {
		t.Error(diff)
	}
	if got := w.lastAct(t); got != "zoë breaker clear chat-a" {
		t.Error(got)
	}
	_, err := w.fleet.RemoveOverride(t.Context(), &pb.RemoveOverrideRequest{Endpoint: "chat-a", Kind: "breaker"})
	wantCode(t, err, codes.NotFound, "chat-a")
	_, err = w.fleet.RemoveOverride(t.Context(), &pb.RemoveOverrideRequest{Endpoint: "chat-a", Kind: "drain"})
	wantCode(t, err, codes.InvalidArgument, "breaker or weight")
}

func TestAnOverrideThatMeansNothingIsRefused(t *testing.T) {
	w := newWorld(t)
	w.publish(t, 0, sources("1.00", "chat"))
	for _, c := range []struct {
		ask  *pb.SetOverrideRequest
		code codes.Code
		says string
	}{
		{weighing("chat-a", -1), codes.InvalidArgument, "weight -1"},
		{weighing("chat-a", maxWeight+1), codes.InvalidArgument, "want 0 to"},
		{weighing("chat-c", 1), codes.NotFound, `"chat-c"`},
		{&pb.SetOverrideRequest{Override: &pb.Override{Endpoint: "chat-a"}}, codes.InvalidArgument, "neither"},
		{&pb.SetOverrideRequest{Override: &pb.Override{Endpoint: "chat-a", What: &pb.Override_Drain{}}}, codes.InvalidArgument, "Drain"},
		{&pb.SetOverrideRequest{}, codes.InvalidArgument, "neither"},
	} {
		_, err := w.fleet.SetOverride(t.Context(), c.ask)
		wantCode(t, err, c.code, c.says)
	}
	if got := w.words(t); got != nil {
		t.Error(got)
	}
}
