package rpc

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func TestFindingsComeBackWithTheirPlaces(t *testing.T) {
	w := newWorld(t)
	bad := &pb.Sources{Files: []*pb.SourceFile{{Name: "a.hcl", Content: []byte("mdoel \"m\" {}\nworkload \"w\" {}\n")}}}
	_, err := w.Publish(t.Context(), &pb.PublishRequest{Sources: bad})
	wantCode(t, err, codes.InvalidArgument, "errors")
	findings, fields := detail[*pb.CatalogFindings](err).GetFindings(), detail[*errdetails.BadRequest](err).GetFieldViolations()
	if len(findings) == 0 || len(fields) != len(findings) {
		t.Fatalf("%d findings, %d fields", len(findings), len(fields))
	}
	if f := findings[0]; f.GetFile() != "a.hcl" || f.GetLine() == 0 || f.GetSummary() == "" {
		t.Fatal(f)
	}
	if _, err := w.Validate(t.Context(), &pb.ValidateRequest{Sources: bad}); grpcstatus.Code(err) != codes.InvalidArgument {
		t.Fatal(err)
	}
}

func TestAPlanSaysWhatAPublishWouldChangeAndWhoCouldNotRunIt(t *testing.T) {
	w := newWorld(t)
	w.publish(t, 0, sources("1.00", "chat"))
	w.leaves = []*pb.LeafState{
		{Leaf: "old", Unusable: []*pb.Unusable{{Workload: "chat", Reason: "strategy"}, {Workload: "removed", Reason: "x"}}},
		{Leaf: "gone", Gone: true, Unusable: []*pb.Unusable{{Workload: "chat"}}},
	}
	p, err := w.Plan(t.Context(), &pb.PlanRequest{Sources: sources("1.50", "chat")})
	if err != nil {
		t.Fatal(err)
	}
	if p.GetBase() != 1 || len(p.GetDigest()) == 0 || len(p.GetChanges()) == 0 {
		t.Fatal(p)
	}
	if diff := cmp.Diff([]*pb.Unready{{Leaf: "old", Workload: "chat", Reason: "strategy"}}, p.GetUnready(), protocmp.Transform()); diff != "" {
		t.Fatal(diff)
	}
	r := w.publish(t, 1, sources("1.50", "chat"))
	if diff := cmp.Diff(p.GetChanges(), r.GetChanges(), protocmp.Transform()); diff != "" {
		t.Fatalf("the publish changed something else (-plan +publish):\n%s", diff)
	}
	info, err := w.Show(t.Context(), &pb.ShowRequest{})
	if err != nil || string(info.GetInfo().GetDigest()) != string(p.GetDigest()) {
		t.Fatal(info.GetInfo(), err)
	}
}

func TestAConflictNamesBothRevisionsAndTheRemedy(t *testing.T) {
	w := newWorld(t)
	w.publish(t, 0, sources("1.00", "chat"))
	w.publish(t, 1, sources("2.00", "chat"))
	_, err := w.Publish(t.Context(), &pb.PublishRequest{Sources: sources("3.00", "chat"), Base: 1})
	if reason := wantCode(t, err, codes.FailedPrecondition, "revision 2", "revision 1", "plan again"); reason != ReasonConflict {
		t.Fatal(reason)
	}
	r, err := w.Publish(t.Context(), &pb.PublishRequest{Sources: sources("3.00", "chat"), AnyBase: true})
	if err != nil || r.GetRevision() != 3 {
		t.Fatal(r, err)
	}
}

func TestWhatIsPublishedAlreadyMakesNoNewRevision(t *testing.T) {
	w := newWorld(t)
	first := w.publish(t, 0, sources("1.00", "chat"))
	again := w.publish(t, 1, sources("1.00", "chat"))
	if diff := cmp.Diff(first.GetHead(), again.GetHead(), protocmp.Transform()); diff != "" || again.GetRevision() != 1 {
		t.Fatalf("revision %d\n%s", again.GetRevision(), diff)
	}
	commented := sources("1.00", "chat")
	commented.Files[0].Content = append([]byte("# a note\n"), commented.GetFiles()[0].GetContent()...)
	r := w.publish(t, 1, commented)
	if r.GetRevision() != 2 || len(r.GetChanges()) != 0 {
		t.Fatalf("a comment made revision %d with %d changes", r.GetRevision(), len(r.GetChanges()))
	}
}

func TestACatalogWithoutWorkloadsNeedsForce(t *testing.T) {
	w := newWorld(t)
	w.publish(t, 0, sources("1.00", "chat"))
	_, err := w.Publish(t.Context(), &pb.PublishRequest{Sources: sources("1.00"), Base: 1})
	if reason := wantCode(t, err, codes.FailedPrecondition, "force"); reason != ReasonEmpties {
		t.Fatal(reason)
	}
	r, err := w.Publish(t.Context(), &pb.PublishRequest{Sources: sources("1.00"), Base: 1, Force: true})
	if err != nil || r.GetRevision() != 2 {
		t.Fatal(r, err)
	}
}

func TestPullGivesTheSourcesBackAsTheyWerePublished(t *testing.T) {
	w := newWorld(t)
	_, err := w.Pull(t.Context(), &pb.PullRequest{})
	wantCode(t, err, codes.NotFound, "nothing is published")
	want := sources("1.00", "chat")
	w.publish(t, 0, want)
	w.publish(t, 1, sources("2.00", "chat"))
	if _, err := w.Tag(t.Context(), &pb.TagRequest{Name: "good", Revision: 1, Actor: "ann"}); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*pb.PullRequest{{Revision: 1}, {Tag: "good"}} {
		got, err := w.Pull(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.GetSources(), protocmp.Transform()); diff != "" {
			t.Fatal(diff)
		}
		if !slices.Equal(got.GetInfo().GetTags(), []string{"good"}) {
			t.Fatal(got.GetInfo())
		}
	}
	_, err = w.Pull(t.Context(), &pb.PullRequest{Revision: 1, Tag: "good"})
	wantCode(t, err, codes.InvalidArgument)
	_, err = w.Pull(t.Context(), &pb.PullRequest{Tag: "bad"})
	wantCode(t, err, codes.NotFound)
}

func TestHistoryAndDiffTellWhatBecameOfTheCatalog(t *testing.T) {
	w := newWorld(t)
	w.publish(t, 0, sources("1.00", "chat"))
	w.publish(t, 1, sources("2.00", "chat"))
	w.publish(t, 2, sources("3.00", "chat"))
	h, err := w.History(t.Context(), &pb.HistoryRequest{Limit: 2})
	if err != nil || len(h.GetRevisions()) != 2 || h.GetRevisions()[0].GetRevision() != 3 || h.GetHead().GetPublished() != 3 {
		t.Fatal(h, err)
	}
	h, err = w.History(t.Context(), &pb.HistoryRequest{Before: 2})
	if err != nil || len(h.GetRevisions()) != 1 || h.GetRevisions()[0].GetAuthor() != "ann" {
		t.Fatal(h, err)
	}
	d, err := w.Diff(t.Context(), &pb.DiffRequest{From: 1})
	if err != nil || len(d.GetChanges()) == 0 {
		t.Fatal(d, err)
	}
	for _, c := range d.GetChanges() {
		if c.GetKind() != pb.Kind_KIND_MODEL {
			t.Errorf("also changed: %v", c)
		}
	}
}

func TestPinsHoldTheFleetOrOneWorkloadUntilUnpinned(t *testing.T) {
	w := newWorld(t)
	w.publish(t, 0, sources("1.00", "chat", "search"))
	w.publish(t, 1, sources("1.00", "chat"))
	p, err := w.Pin(t.Context(), &pb.PinRequest{Revision: 1, Reason: "r", Actor: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	wantServing(t, p.GetHead(), "generation 3 published 2 serving 1 pin 1 pins 0")
	r := w.publish(t, 2, sources("1.00", "chat", "batch"))
	if !r.GetHeldByPin() {
		t.Fatal("it does not say that the pin holds it")
	}
	u, err := w.Unpin(t.Context(), &pb.UnpinRequest{Actor: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	wantServing(t, u.GetHead(), "generation 5 published 3 serving 3 pin 0 pins 0")

	p, err = w.Pin(t.Context(), &pb.PinRequest{Revision: 1, Workload: "search"})
	if err != nil {
		t.Fatal(err)
	}
	wantServing(t, p.GetHead(), "generation 6 published 3 serving 4 pin 0 pins 1")
	s, err := w.Show(t.Context(), &pb.ShowRequest{})
	if err != nil || s.GetInfo().GetComposedOf() != 3 {
		t.Fatal(s.GetInfo(), err)
	}
	for _, name := range []string{"chat", "search", "batch"} {
		if !hasWorkload(s.GetResources(), name) {
			t.Errorf("workload %s is not served", name)
		}
	}
	for _, bad := range []struct {
		request *pb.PinRequest
		want    codes.Code
	}{
		{&pb.PinRequest{}, codes.InvalidArgument},
		{&pb.PinRequest{Revision: 9}, codes.NotFound},
		{&pb.PinRequest{Revision: 1, Workload: "batch"}, codes.NotFound},
	} {
		_, err := w.Pin(t.Context(), bad.request)
		wantCode(t, err, bad.want)
	}
}

func TestAPinThatCannotBeSharedIsRefusedWithTheDifference(t *testing.T) {
	w := newWorld(t)
	w.publish(t, 0, sources("1.00", "chat", "search"))
	w.publish(t, 1, sources("2.00", "chat", "search"))
	_, err := w.Pin(t.Context(), &pb.PinRequest{Revision: 1, Workload: "search"})
	if reason := wantCode(t, err, codes.FailedPrecondition, "unpin"); reason != ReasonPinned {
		t.Fatal(reason)
	}
	if len(detail[*pb.DiffResponse](err).GetChanges()) == 0 {
		t.Fatal("no difference")
	}
}

func TestANamespaceThatCannotBeIsRefused(t *testing.T) {
	w := newWorld(t)
	_, err := w.History(t.Context(), &pb.HistoryRequest{Namespace: "../meta"})
	wantCode(t, err, codes.InvalidArgument)
}

func TestARefusalShowsErrorsBeforeWarnings(t *testing.T) {
	w := newWorld(t)
	text := ""
	for i := range maxDetails + 5 {
		text += fmt.Sprintf("quota \"q-%d\" {}\n", i) // each is a warning
	}
	src := &pb.Sources{Files: []*pb.SourceFile{{Name: "a.hcl", Content: []byte(text + "workload \"w\" {\n  apis = [\"openai.chat\"]\n}\n")}}}
	_, err := w.Validate(t.Context(), &pb.ValidateRequest{Sources: src})
	wantCode(t, err, codes.InvalidArgument, "1 error in the catalog; 1 of 106 findings are shown")
	told := detail[*pb.CatalogFindings](err).GetFindings()
	if len(told) != 1 || told[0].GetSeverity() != pb.Severity_SEVERITY_ERROR {
		t.Error(told)
	}
}
