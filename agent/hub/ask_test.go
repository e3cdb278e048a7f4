package hub

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// asks waits for the question that a child is asked.
func (v *visitor) asks() *pb.Question {
	v.t.Helper()
	for _, m := range v.heard() {
		if q := m.GetQuestion(); q != nil {
			return q
		}
	}
	v.t.Fatal("nothing was asked")
	return nil
}

func (v *visitor) answers(number uint64, text string) {
	v.say(&pb.SyncRequest{Message: &pb.SyncRequest_Answer{Answer: &pb.Answer{Number: number, Error: text}}})
}

// asking is a question that is on its way.
type asking struct {
	answer *pb.Answer
	err    error
}

func (w *world) ask(leaf string, within time.Duration) *asking {
	a := &asking{}
	ctx, cancel := context.WithTimeout(w.t.Context(), within)
	go func() {
		defer cancel()
		a.answer, a.err = w.hub.Ask(ctx, leaf, &pb.Question{Explain: &pb.ExplainRequest{Workload: "chat"}})
	}()
	synctest.Wait()
	return a
}

func TestALeafIsAskedAndItsAnswerIsMatchedByNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil)
		defer w.stop()
		v, relay := w.visit(helloOf("l")), w.visit(relayOf("agent"))
		defer v.leave()
		defer relay.leave()
		relay.report(&pb.Report{States: []*pb.LeafState{{Leaf: "far", Incarnation: 1}}})
		first, second, far := w.ask("l", time.Second), w.ask("l", time.Second), w.ask("far", time.Second)
		var numbers []uint64
		for _, m := range v.heard() {
			if q := m.GetQuestion(); q != nil {
				numbers = append(numbers, q.Number)
			}
		}
		if len(numbers) != 2 || numbers[0] == numbers[1] {
			t.Fatalf("asked as %v", numbers)
		}
		q := relay.asks()
		if q.Leaf != "far" || q.Explain.GetWorkload() != "chat" || q.TimeoutUs <= 0 || q.TimeoutUs > 1e6 {
			t.Errorf("the relay was asked %v", q)
		}
		v.answers(numbers[1], "to the second")
		relay.answers(q.Number, "from afar")
		v.answers(numbers[0], "to the first")
		v.answers(numbers[0], "again")
		v.answers(77, "to nobody")
		for a, want := range map[*asking]string{first: "to the first", second: "to the second", far: "from afar"} {
			if a.err != nil || a.answer.GetError() != want {
				t.Errorf("got %v, %v, want %q", a.answer, a.err, want)
			}
		}
	})
}

func TestAQuestionEndsWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil)
		v := w.visit(helloOf("l"))
		if a := w.ask("nobody", time.Second); status.Code(a.err) != codes.NotFound {
			t.Errorf("of a leaf that is not there: %v", a.err)
		}
		late := w.ask("l", time.Second)
		time.Sleep(time.Second + time.Millisecond)
		synctest.Wait()
		if late.err == nil && !strings.Contains(late.answer.GetError(), "in time") {
			t.Errorf("of a leaf that is silent: %v", late.answer)
		}
		lost := w.ask("l", time.Minute)
		v.leave()
		if lost.err != nil || !strings.Contains(lost.answer.GetError(), "ended") {
			t.Errorf("of a leaf that went: %v, %v", lost.answer, lost.err)
		}
		if n := w.hub.Figures().Questions; n != 0 {
			t.Errorf("%d questions are kept", n)
		}
		w.stop()
	})
}

func TestQuestionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil)
		defer w.stop()
		v := w.visit(helloOf("l"))
		defer v.leave()
		answered := 0
		pose := func() error {
			return w.hub.pose(&pb.Question{Leaf: "l", TimeoutUs: 3600e6}, func(*pb.Answer) { answered++ })
		}
		for range maxAsked {
			if err := pose(); err != nil {
				t.Fatal(err)
			}
		}
		if err := pose(); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("one more: %v", err)
		}
		time.Sleep(maxWait + time.Millisecond) // longer is nobody's wait
		synctest.Wait()
		if answered != maxAsked {
			t.Errorf("%d of %d were told that there is no answer", answered, maxAsked)
		}
		if err := pose(); err != nil {
			t.Errorf("after that: %v", err)
		}
	})
}
