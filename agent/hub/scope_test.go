package hub

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// sorts is a catalog of resources of several kinds.
func sorts(generation uint64, names map[pb.Kind][]string) *wire.State {
	entries := map[wire.Key]wire.Entry{}
	for kind, all := range names {
		for _, n := range all {
			entries[wire.Key{Kind: kind, Name: n}] = wire.Entry{Body: []byte(n), Hash: wire.HashOf([]byte(n))}
		}
	}
	return wire.NewState(catalogTrack, &pb.Version{StoreId: "store", Epoch: 1, Generation: generation}, entries)
}

var two = map[pb.Kind][]string{
	pb.Kind_KIND_ENDPOINT: {"mine", "many"}, pb.Kind_KIND_WORKLOAD: {"chat"}, pb.Kind_KIND_QUOTA: {"quota"},
}

// Report: rows only for endpoints in one's view.
func TestWhatIsNotInAViewIsNotReportedOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil, sorts(1, two))
		defer w.stop()
		v := w.visit(helloOf("l"))
		defer v.leave()
		v.report(&pb.Report{Leaves: []*pb.LeafReport{{
			Leaf: "l", Sequence: 1,
			Rows: []*pb.Row{
				{Endpoint: "mine", Workload: "chat"}, {Endpoint: "theirs", Workload: "chat"}, {Endpoint: "mine", Workload: "their work"},
				{Endpoint: "many@10.0.0.1:80"}, {Endpoint: "theirs@10.0.0.1:80"}, {Endpoint: wire.Other},
			},
			Votes:  []*pb.Vote{{Endpoint: "mine"}, {Endpoint: "theirs"}},
			Probes: []*pb.ProbeResult{{Endpoint: "theirs"}, {Endpoint: "mine"}},
			Sheds:  []*pb.Shed{{Workload: "chat"}, {Workload: "their work"}},
			Spent:  []*pb.Spent{{Quota: "their quota"}, {Quota: "quota"}},
		}}})
		time.Sleep(2 * time.Second)
		var got []string
		for _, r := range w.passed().Leaves {
			for _, x := range r.Rows {
				got = append(got, "row "+x.Endpoint)
			}
			for _, x := range r.Votes {
				got = append(got, "vote "+x.Endpoint)
			}
			for _, x := range r.Probes {
				got = append(got, "probe "+x.Endpoint)
			}
			for _, x := range r.Sheds {
				got = append(got, "shed "+x.Workload)
			}
			for _, x := range r.Spent {
				got = append(got, "spent "+x.Quota)
			}
		}
		want := []string{"row mine", "row many@10.0.0.1:80", "row (other)", "vote mine", "probe mine", "shed chat", "spent quota"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if told := w.told(); told[len(told)-1] != Dropped {
			t.Errorf("told %v", told)
		}
	})
}

// A relay is held to all its views together; one that has its catalog from elsewhere is not.
func TestRelaysAreHeldToTheirViews(t *testing.T) {
	for name, c := range map[string]struct {
		subscribe *pb.Subscribe
		want      int
	}{
		"an agent":  {&pb.Subscribe{View: 1, All: true}, 1},
		"no view":   {nil, 0},
		"a replica": {&pb.Subscribe{View: 1, All: true, FleetOnly: true}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := serve(t, nil, sorts(1, two))
				defer w.stop()
				v := w.visit(&pb.Hello{Leaf: "n", Node: "n", Relay: true, Subscribe: c.subscribe})
				defer v.leave()
				v.report(&pb.Report{Nodes: []*pb.NodeReport{{
					Sequence: 1, Engines: []*pb.EngineLoad{{Endpoint: "mine"}, {Endpoint: "theirs"}}, Reaches: []*pb.Reach{{Endpoint: "theirs"}, {Endpoint: "mine"}},
				}}})
				time.Sleep(2 * time.Second)
				got := w.passed().Nodes
				if len(got) != 1 || got[0].Node != "n" || len(got[0].Engines) != c.want || len(got[0].Reaches) != c.want {
					t.Errorf("passed up %v, want %d of each", got, c.want)
				}
			})
		})
	}
}

// Report: a report counts at most once, by (reporter, incarnation, sequence).
func TestAReportIsPassedUpOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil, catalogAt(1, rows{"e": "1"}))
		defer w.stop()
		a, b := w.visit(relayOf("a")), w.visit(relayOf("b"))
		defer a.leave()
		defer b.leave()
		say := func(v *visitor, incarnation uint64, sequences ...uint64) {
			m := &pb.Report{}
			for _, s := range sequences {
				m.Leaves = append(m.Leaves, &pb.LeafReport{Leaf: "l", Incarnation: incarnation, Sequence: s})
				m.Nodes = append(m.Nodes, &pb.NodeReport{Node: "n", Incarnation: incarnation, Sequence: s})
			}
			v.report(m)
		}
		say(a, 1, 1, 2, 2, 4)
		say(b, 1, 3, 4, 5) // 3 was on its way by another parent; 4 comes again
		say(a, 1, 200, 5)
		say(b, 2, 1)
		say(a, 1, 201) // of a process that is no more
		time.Sleep(2 * time.Second)
		var leaves, nodes []uint64
		up := w.passed()
		for _, r := range up.Leaves {
			leaves = append(leaves, 1000*r.Incarnation+r.Sequence)
		}
		for _, n := range up.Nodes {
			nodes = append(nodes, 1000*n.Incarnation+n.Sequence)
		}
		want := []uint64{1001, 1002, 1004, 1003, 1005, 1200, 2001}
		if diff := cmp.Diff(want, leaves); diff != "" {
			t.Errorf("leaves: %s", diff)
		}
		if diff := cmp.Diff(want, nodes); diff != "" {
			t.Errorf("nodes: %s", diff)
		}
	})
}

// Rule 9: ages of nodes grow in a relay, and pauses of quotas run on.
func TestRule9WhatWaitsGrowsOlder(t *testing.T) {
	var o outbox
	o.see(10, 10, &pb.NodeReport{AgeUs: 5})
	o.add(10, 10, &pb.LeafReport{AgeUs: 7, Spent: []*pb.Spent{{RemainingUs: 100}, {RemainingUs: 3}}})
	out := batches(nil, o.drain(60))[0]
	if age := out.Nodes[0].AgeUs; age != 55 {
		t.Errorf("the node's report is %d old, want 55", age)
	}
	if l := out.Leaves[0]; l.AgeUs != 57 || l.Spent[0].RemainingUs != 50 || l.Spent[1].RemainingUs != 0 {
		t.Errorf("the leaf's is %v", l)
	}
}

func TestALeafIsNoWitnessOfItsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, nil, catalogAt(1, rows{"e": "1"}))
		defer w.stop()
		v := w.visit(helloOf("l"))
		defer v.leave()
		v.report(&pb.Report{Nodes: []*pb.NodeReport{{Node: "node", Sequence: 1, Engines: []*pb.EngineLoad{{Endpoint: "e"}}}}})
		time.Sleep(2 * time.Second)
		if got := w.passed().Nodes; len(got) != 0 {
			t.Errorf("passed up %v", got)
		}
	})
}
