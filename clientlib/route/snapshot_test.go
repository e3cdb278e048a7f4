package route_test

import (
	"fmt"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
)

// large is a catalog of n endpoints, each in every one of so many workloads.
func large(n, workloads int) *route.Catalog {
	s := newStory()
	tier := route.Tier{Name: "all"}
	for i := range n {
		name := fmt.Sprintf("e%04d", i)
		s.declare(parse(fmt.Sprintf("endpoint %s identity=%d region=eu/west weight=%d", name, i+1, 50+i%100)))
		tier.Endpoints = append(tier.Endpoints, name)
	}
	w := s.workload(parse("workload w tiers=t:a requires=tools regions=eu"))
	for i := range workloads {
		w.Name, w.Tiers = fmt.Sprintf("w%03d", i), []route.Tier{tier}
		s.catalog.Workloads = append(s.catalog.Workloads, w)
	}
	s.catalog.Version.Generation = 1
	return &s.catalog
}

func compile(tb testing.TB, prev *route.Snapshot, c *route.Catalog, f *route.Fleet) *route.Snapshot {
	tb.Helper()
	s, err := route.Compile(prev, c, f, route.Local{})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestSnapshotTellsWhatItWasMadeOf(t *testing.T) {
	c, f := large(3, 1), &route.Fleet{}
	s := compile(t, nil, c, f)
	if s.Catalog() != c || s.Fleet() != f || s.Version() != c.Version {
		t.Error("a snapshot of something else")
	}
}

func BenchmarkCompile(b *testing.B) {
	c := large(1000, 200)
	prev := compile(b, nil, c, nil)
	again := large(1000, 200)
	changed := large(1000, 200)
	changed.Endpoints[7].Weight++
	for name, run := range map[string]func(){
		"cold":      func() { compile(b, nil, c, nil) },
		"fleet":     func() { compile(b, prev, c, &route.Fleet{}) },
		"unchanged": func() { compile(b, prev, again, nil) },
		"endpoint":  func() { compile(b, prev, changed, nil) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				run()
			}
		})
	}
}
