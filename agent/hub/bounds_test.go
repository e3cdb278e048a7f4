package hub

import (
	"fmt"
	"net"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func TestRule12TheDoorPacesAndCounts(t *testing.T) {
	d := newDoor(Bounds{PerHost: 3, PerSecond: 10})
	let := 0
	for i := range 50 {
		if d.enter(1, fmt.Sprint("host", i)) == nil {
			let++
		}
	}
	if let != 10 {
		t.Errorf("%d let in at once, want a second's worth, 10", let)
	}
	let = 0
	for now := int64(1e6); now < 11e6; now += 1000 {
		if d.enter(now, "busy") == nil {
			let++
		}
	}
	if let != 3 {
		t.Errorf("%d streams of one host, want 3", let)
	}
	d.leave("busy")
	if err := d.enter(12e6, "busy"); err != nil {
		t.Errorf("after one left: %v", err)
	}
}

// Rule 12: of a crowd that comes back at once all get in, one after the other, however many
// more turn up meanwhile.
func TestRule12ACrowdComesInByTurns(t *testing.T) {
	const crowd, pace = 10_000, 500
	d := newDoor(Bounds{PerHost: 10 * crowd, PerSecond: pace})
	due := map[int64]int{0: crowd} // how many come, by the millisecond
	let, last, tries := 0, int64(0), 0
	for ms := int64(0); let < crowd && ms < 120_000; ms++ {
		for range due[ms] {
			tries++
			err := d.enter(1e3*ms+1, "host")
			if err == nil {
				let, last = let+1, ms
				continue
			}
			delay := status.Convert(err).Details()[0].(*errdetails.RetryInfo).RetryDelay.AsDuration()
			if delay > maxTurn {
				t.Fatalf("told to wait for %v", delay)
			}
			due[ms+1+delay.Milliseconds()]++
		}
		delete(due, ms)
	}
	if let != crowd || last < 1000*crowd/pace-2000 || last > 2500*crowd/pace {
		t.Errorf("%d of %d are in after %d ms", let, crowd, last)
	}
	if tries > 3*crowd {
		t.Errorf("%d tries for %d streams", tries, crowd)
	}
	t.Logf("%d ms, %d tries", last, tries)
}

func TestARefusalSaysWhenToComeBack(t *testing.T) {
	s := status.Convert(later(someTime(), "no room"))
	if s.Code() != codes.ResourceExhausted || len(s.Details()) != 1 {
		t.Fatalf("got %v with %v", s, s.Details())
	}
	delay := s.Details()[0].(*errdetails.RetryInfo).RetryDelay.AsDuration().Seconds()
	if delay < 1 || delay > 5 {
		t.Errorf("come back in %v s, want 1 to 5", delay)
	}
}

func TestIdentitiesAreCountedPerHost(t *testing.T) {
	d := newDoor(Bounds{PerIdentity: 1})
	if d.name("h1", "app") != nil || d.name("h2", "app") != nil || d.name("h1", "other") != nil {
		t.Error("refused where there was room")
	}
	if d.name("h1", "app") == nil {
		t.Error("a second stream of one identity and host was let in")
	}
	for range 5 {
		if d.name("h1", "") != nil {
			t.Error("nobody in particular was counted")
		}
	}
}

func TestALostConnectionProvesAnEndOnlyOnThisHost(t *testing.T) {
	for a, want := range map[net.Addr]bool{
		&net.UnixAddr{Name: "@", Net: "unix"}:     true,
		&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}:  true,
		&net.TCPAddr{IP: net.IPv4(10, 1, 2, 3)}:   false,
		&net.TCPAddr{IP: net.ParseIP("fd00::17")}: false,
	} {
		if local(a) != want {
			t.Errorf("%v: got %v", a, !want)
		}
	}
}

func failing(leaf string, n uint64) *pb.LeafReport {
	return &pb.LeafReport{Leaf: leaf, Sequence: n, Rows: []*pb.Row{{Endpoint: "e", AdmitFailed: 1}}}
}

func calm(leaf string, n uint64) *pb.LeafReport {
	return &pb.LeafReport{Leaf: leaf, Sequence: n, Rows: []*pb.Row{{Endpoint: "e", Admitted: 1}}}
}

func TestRule11ReportsDue(t *testing.T) {
	const s = 1e6
	for _, c := range []struct {
		name    string
		last    int64
		hurried int64
		leaves  int
		add     []*pb.LeafReport
		want    int64
	}{
		{"nothing waits", 0, 0, 1, nil, never},
		{"the first after a pause goes at once", 0, 0, 1, []*pb.LeafReport{calm("l", 1)}, 100 * s},
		{"others wait for a second", 99.5 * s, 0, 1, []*pb.LeafReport{calm("l", 1)}, 100.5 * s},
		{"or longer when there are many leaves", 99.5 * s, 0, 4000, []*pb.LeafReport{calm("l", 1)}, 103.5 * s},
		{"failures go within 100 ms", 99.5 * s, 0, 4000, []*pb.LeafReport{calm("l", 1), failing("l", 2)}, 100.025 * s},
		{"votes too", 99.5 * s, 0, 1, []*pb.LeafReport{{Votes: []*pb.Vote{{}}}}, 100.025 * s},
		{"probes too", 99.5 * s, 0, 1, []*pb.LeafReport{{Probes: []*pb.ProbeResult{{}}}}, 100.025 * s},
		{"but four times a second at most", 99.5 * s, 99.9 * s, 1, []*pb.LeafReport{failing("l", 1)}, 100.15 * s},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := outbox{last: c.last, hurried: c.hurried}
			for _, r := range c.add {
				o.add(100*s, 100*s, r)
			}
			if got := o.due(c.leaves); got != c.want {
				t.Errorf("due at %d, want %d", got, c.want)
			}
		})
	}
}

func TestTheOutboxDropsTheOldestWhole(t *testing.T) {
	var o outbox
	big := make([]*pb.Row, 2000)
	for i := range big {
		big[i] = &pb.Row{Endpoint: "an endpoint with a name of some length", Admitted: 1}
	}
	const n = 200
	for i := range n {
		o.add(10, 10, &pb.LeafReport{Leaf: "l", Sequence: uint64(i), Rows: big, AgeUs: 4})
	}
	lost := o.lost
	out := o.drain(17)
	if len(out)+lost != n || lost == 0 || out[len(out)-1].leaf.Sequence != n-1 || out[0].leaf.Sequence != uint64(lost) {
		t.Fatalf("%d kept and %d lost of %d, from %d", len(out), lost, n, out[0].leaf.Sequence)
	}
	if out[0].leaf.AgeUs != 11 || len(out[0].leaf.Rows) != len(big) {
		t.Errorf("age %d with %d rows, want the hub's own 7 added to 4", out[0].leaf.AgeUs, len(out[0].leaf.Rows))
	}
	for _, b := range batches(nil, out) {
		if size := proto.Size(b); size > maxBatch {
			t.Errorf("a message of %d bytes", size)
		}
	}
}

func TestAGrantIsShortenedByItsWait(t *testing.T) {
	permit := func(left int64) *pb.Grant {
		return &pb.Grant{What: &pb.Grant_Permit{Permit: &pb.Permit{UseByUs: left}}}
	}
	g := permit(500)
	if left := aged(g, 200).GetPermit().GetUseByUs(); left != 300 || g.GetPermit().UseByUs != 500 {
		t.Errorf("%d left, want 300, and the original as it was", left)
	}
	if aged(g, 500) != nil {
		t.Error("a grant that ran out was passed on")
	}
	lease := &pb.Grant{What: &pb.Grant_Lease{Lease: &pb.Lease{DurationUs: 500}}}
	if left := aged(lease, 100).GetLease().GetDurationUs(); left != 400 {
		t.Errorf("%d left, want 400", left)
	}
}
