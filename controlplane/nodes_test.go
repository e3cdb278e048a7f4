package controlplane

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func TestOfEachNodeTheNewestWordIsKeptForTwoMinutes(t *testing.T) {
	now := int64(1000e6)
	n := &nodes{now: func() int64 { return now }, of: map[string]sighting{}}
	word := func(node string, incarnation, sequence uint64) *pb.NodeReport {
		return &pb.NodeReport{Node: node, Incarnation: incarnation, Sequence: sequence, AgeUs: 2e6}
	}
	n.see(now, []*pb.NodeReport{word("a", 1, 5), word("b", 1, 1)})
	n.see(now, []*pb.NodeReport{word("a", 1, 4), word("a", 1, 5), word("b", 2, 1)})
	now += 10e6
	want := []*pb.NodeReport{word("a", 1, 5), word("b", 2, 1)}
	for _, w := range want {
		w.AgeUs = 12e6
	}
	if diff := cmp.Diff(want, n.all(), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	now += nodeFor
	if all := n.all(); len(all) != 0 {
		t.Errorf("two minutes later: %v", all)
	}
	for i := range maxNodes + 10 {
		n.see(now, []*pb.NodeReport{word(fmt.Sprint("n", i), 1, 1)})
	}
	if len(n.of) > maxNodes || len(n.all()) < maxNodes-2 {
		t.Errorf("%d nodes are kept, %d of them told of", len(n.of), len(n.all()))
	}
}
