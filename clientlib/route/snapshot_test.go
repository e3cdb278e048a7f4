package route_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
)

// large is a catalog of n endpoints, each in every one of so many workloads.
func large(n, workloads int) *route.Catalog {
	s := newStage()
	tier := route.Tier{Name: "all"}
	for i := range n {
		name := fmt.Sprintf("e%04d", i)
		s.declare(parse(fmt.Sprintf("endpoint %s identity=%d region=eu/west weight=%d", name, i+1, 50+i%100)))
		tier.Endpoints = append(tier.Endpoints, name)
	}
	w := s.workload(parse("workload w tiers=t:a requires=tools regions=eu"))
	for i := range workloads {
		own := route.Tier{Name: "all"} // as decoded, workloads share no memory
		for _, name := range tier.Endpoints {
			own.Endpoints = append(own.Endpoints, strings.Clone(name))
		}
		w.Name, w.Tiers = fmt.Sprintf("w%03d", i), []route.Tier{own}
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

// overlay has a row for each of n endpoints; the first few are of another time.
func overlay(n, few int) *route.Fleet {
	f := &route.Fleet{}
	for i := range n {
		at := int64(1_000_000)
		if i < few {
			at++
		}
		f.Endpoints = append(f.Endpoints, route.FleetEndpoint{
			Name: fmt.Sprintf("e%04d", i), Identity: uint64(i + 1), At: at, Speed: 1, Loads: []route.FleetLoad{{InFlight: uint64(i)}},
		})
	}
	return f
}

func BenchmarkCompile(b *testing.B) {
	c, f := large(1000, 200), overlay(1000, 0)
	prev := compile(b, nil, c, f)
	again, changed, few := large(1000, 200), large(1000, 200), overlay(1000, 20)
	changed.Endpoints[7].Weight++
	for _, v := range []struct {
		name string
		run  func()
	}{
		{"whole", func() { compile(b, nil, c, f) }},
		{"unchanged", func() { compile(b, prev, again, f) }},
		{"endpoint", func() { compile(b, prev, changed, f) }},
		{"overlay", func() { compile(b, prev, c, few) }},
	} {
		b.Run(v.name, func(b *testing.B) {
			for b.Loop() {
				v.run()
			}
		})
	}
}

// BenchmarkApply changes one endpoint, or the overlay of twenty, to and fro under calls of
// 64 shapes; pick is the first one after it, which finds its pool out of date.
func BenchmarkApply(b *testing.B) {
	c, f := large(1000, 200), overlay(1000, 0)
	prev := compile(b, nil, c, f)
	changed := large(1000, 200)
	changed.Endpoints[7].Weight++
	for _, v := range []struct {
		name string
		next *route.Snapshot
	}{
		{"endpoint", compile(b, prev, changed, f)},
		{"overlay", compile(b, prev, c, overlay(1000, 20))},
	} {
		b.Run(v.name, func(b *testing.B) { benchmarkApply(b, prev, v.next, 0) })
		b.Run(v.name+"/pick", func(b *testing.B) { benchmarkApply(b, prev, v.next, 1) })
	}
}

func benchmarkApply(b *testing.B, prev, next *route.Snapshot, picks int) {
	r, now, seed := route.NewRouter(), int64(1_000_000), uint32(0)
	r.Apply(now, prev)
	pick := func(i int) {
		now, seed = now+pace, seed+1
		call := r.Begin(now, fmt.Sprintf("w%03d", i/64%20), shape(i%64))
		r.Abandon(now, r.Next(now, seed, &call).Attempt)
	}
	for i := range 64 * 20 {
		pick(i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		now, prev, next = now+1, next, prev
		r.Apply(now, prev)
		for range picks {
			pick(i)
		}
	}
}
