package clientlib_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/pointsman/pointsman/clientlib"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// A leaf that is asked where a request would go answers by its own gates and scores.
func TestALeafAnswersWhereARequestWouldGo(t *testing.T) {
	bubble(t, func(t *testing.T, p *parent) {
		c, err := clientlib.Open(t.Context(), p.child())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		p.mu.Lock()
		leaf := p.hello.GetLeaf()
		p.mu.Unlock()
		ask := func(number uint64, x *pb.ExplainRequest) *pb.Answer {
			p.down <- &pb.SyncResponse{Message: &pb.SyncResponse_Question{Question: &pb.Question{Number: number, Leaf: leaf, Explain: x}}}
			time.Sleep(time.Millisecond)
			synctest.Wait()
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.answer.GetNumber() != number {
				t.Fatalf("question %d: got %v", number, p.answer)
			}
			return p.answer
		}
		good := ask(1, &pb.ExplainRequest{Workload: "chat", InputTokens: 100}).GetExplain()
		if len(good.GetCandidates()) != 1 || good.Candidates[0].Endpoint != "a" || good.Candidates[0].Reason != "" || good.Candidates[0].Share != 1 {
			t.Errorf("explained %v", good)
		}
		if good.GetFleetOnly() || good.GetTime() == nil || good.GetShed() != "" {
			t.Errorf("explained %v", good)
		}
		long := ask(2, &pb.ExplainRequest{Workload: "chat", InputTokens: 1e6}).GetExplain()
		if long.GetShed() == "" || long.Candidates[0].Reason == "" {
			t.Errorf("a prompt that fits nowhere: %v", long)
		}
		if none := ask(3, &pb.ExplainRequest{Workload: "nobody's"}).GetExplain(); none.GetShed() == "" {
			t.Errorf("a workload that is not there: %v", none)
		}
		if odd := ask(4, nil); odd.GetError() == "" {
			t.Errorf("a question of a later version: %v", odd)
		}
	})
}
