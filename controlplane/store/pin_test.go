package store

import (
	"context"
	"errors"
	"testing"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func pin(t *testing.T, s *Store, workload string, n uint64) *pb.Head {
	t.Helper()
	h, err := s.Pin(t.Context(), ns, PinChange{Workload: workload, Revision: n, Actor: "ann", Compose: compose(s)})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func unpin(t *testing.T, s *Store, workload string) *pb.Head {
	t.Helper()
	h, err := s.Unpin(t.Context(), ns, PinChange{Workload: workload, Actor: "ann", Compose: compose(s)})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestAFleetPinHoldsUntilItIsTakenBack(t *testing.T) {
	s := open(t)
	publish(t, s, 0, content("one", "chat"))
	publish(t, s, 1, content("two", "chat"))
	wantHead(t, pin(t, s, "", 1), "generation 3 published 2 serving 1 pin 1")
	h, _ := publish(t, s, 2, content("three", "chat"))
	wantHead(t, h, "generation 4 published 3 serving 1 pin 1")
	wantHead(t, unpin(t, s, ""), "generation 5 published 3 serving 3 pin 0")
	if _, err := s.Unpin(t.Context(), ns, PinChange{}); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
	if _, err := s.Pin(t.Context(), ns, PinChange{Revision: 9}); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
}

func TestAWorkloadPinIsComposedAndComposedAgainOnEveryPublish(t *testing.T) {
	s := open(t)
	publish(t, s, 0, content("one", "chat", "search"))
	publish(t, s, 1, content("two", "chat", "search"))
	h := pin(t, s, "chat", 1)
	wantHead(t, h, "generation 3 published 2 serving 3 pin 0 chat at 1")
	mixed := content("two", "chat", "search")
	mixed.Resources[0].Body = []byte("one")
	wantServed(t, s, h, mixed)

	h, n := publish(t, s, 2, content("three", "chat", "search"))
	if n != 4 {
		t.Fatalf("published as %d", n)
	}
	wantHead(t, h, "generation 4 published 4 serving 5 pin 0 chat at 1")
	info, _, err := s.Revision(t.Context(), ns, 5)
	if err != nil || info.GetComposedOf() != 4 || info.GetMessage() != "revision 4 with chat at 1" {
		t.Fatal(info, err)
	}
	h = unpin(t, s, "chat")
	wantHead(t, h, "generation 5 published 4 serving 4 pin 0")
	if h, n := publish(t, s, 4, content("four", "chat")); n != 6 {
		t.Fatalf("a composition's number was given again: %v", h)
	}
}

func TestACompositionThatIsServedAlreadyIsNotStoredAgain(t *testing.T) {
	s := open(t)
	publish(t, s, 0, content("one", "chat", "search"))
	publish(t, s, 1, content("two", "chat", "search"))
	pin(t, s, "chat", 1)
	wantHead(t, pin(t, s, "chat", 1), "generation 4 published 2 serving 3 pin 0 chat at 1")
	wantHead(t, pin(t, s, "search", 2), "generation 5 published 2 serving 3 pin 0 chat at 1, search at 2")
}

func TestAPinOnWhatIsPublishedServesThat(t *testing.T) {
	s := open(t)
	publish(t, s, 0, content("one", "chat"))
	wantHead(t, pin(t, s, "chat", 1), "generation 2 published 1 serving 1 pin 0 chat at 1")
}

func TestAFleetPinHidesWorkloadPinsThatHoldAgainAfterIt(t *testing.T) {
	s := open(t)
	publish(t, s, 0, content("one", "chat", "search"))
	publish(t, s, 1, content("two", "chat", "search"))
	pin(t, s, "", 1)
	wantHead(t, pin(t, s, "chat", 1), "generation 4 published 2 serving 1 pin 1 chat at 1")
	wantHead(t, unpin(t, s, ""), "generation 5 published 2 serving 3 pin 0 chat at 1")
}

func TestACompositionThatDoesNotFitRefusesTheAct(t *testing.T) {
	s := open(t)
	publish(t, s, 0, content("one", "chat", "search"))
	h, _ := publish(t, s, 1, content("two", "chat", "search"))
	before := brief(h)
	refused := errors.New("refused")
	refuse := func(context.Context, []*pb.WorkloadPin, *pb.StoredContent) (*Composition, error) { return nil, refused }
	if _, err := s.Pin(t.Context(), ns, PinChange{Workload: "chat", Revision: 1, Compose: refuse}); !errors.Is(err, refused) {
		t.Fatal(err)
	}
	h, err := s.Head(t.Context(), ns)
	if err != nil {
		t.Fatal(err)
	}
	wantHead(t, h, before)
}
