package wire

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// large is a state of so many endpoints, and of workloads over all of them.
func large(tb testing.TB, endpoints, workloads int) *State {
	c := sample()
	tier := &pb.Tier{Name: "all"}
	for i := range endpoints {
		e := proto.CloneOf(c.endpoint("a"))
		e.Name, e.Identity = fmt.Sprintf("e%04d", i), uint64(i+1)
		c[Key{pb.Kind_KIND_ENDPOINT, e.Name}] = e
		tier.Endpoints = append(tier.Endpoints, e.Name)
	}
	for i := range workloads {
		w := proto.CloneOf(c.workload("chat"))
		w.Name, w.Tiers = fmt.Sprintf("w%03d", i), []*pb.Tier{tier}
		c[Key{pb.Kind_KIND_WORKLOAD, w.Name}] = w
	}
	return c.state(tb)
}

func BenchmarkCatalog(b *testing.B) {
	for _, n := range []int{1, 200} {
		s := large(b, 1000, n)
		b.Run(fmt.Sprintf("1000 endpoints, %d workloads", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := Catalog(s, false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
