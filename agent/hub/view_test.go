package hub

import (
	"fmt"
	"testing"
	"testing/synctest"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// A child that wants another view each time keeps nobody else out, and leaves no more than
// the bound behind.
func TestAFlappingChildKeepsNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil, catalogAt(1, rows{"a": "1"}))
		defer w.stop()
		v := w.visit(&pb.Hello{Leaf: "flapping"})
		defer v.leave()
		for n := range maxAllViews + 100 {
			v.sequence++
			if err := v.stream.Send(&pb.SyncRequest{Sequence: v.sequence, Message: &pb.SyncRequest_Subscribe{
				Subscribe: &pb.Subscribe{View: 1, Workloads: []string{fmt.Sprint("w", n)}},
			}}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if n := w.hub.Figures().Views; n > maxAllViews {
			t.Errorf("%d views are kept", n)
		}
		good := w.visit(helloOf("good"))
		defer good.leave()
		good.took(good.update())
		w.mu.Lock()
		asked := map[string]int{}
		for _, line := range w.log {
			asked[line[1:]] += map[byte]int{'+': 1, '-': -1}[line[0]]
		}
		w.mu.Unlock()
		for key, n := range asked {
			if n < 0 || n > 1 {
				t.Fatalf("view %s was asked for %d times more than given back", key, n)
			}
		}
	})
}
