package controlplane

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func TestWhatIsPublishedPinnedAndDrainedArrivesAtALeaf(t *testing.T) {
	r := start(t, Config{DataDir: t.TempDir()})
	l := connect(t, r, "one")
	r.publish(t, 0, "eu")
	if got := regionOf(t, l.untilGeneration(t, 1), "a"); got != "eu" {
		t.Fatal(got)
	}
	r.publish(t, 1, "us")
	if got := regionOf(t, l.untilGeneration(t, 2), "a"); got != "us" {
		t.Fatal(got)
	}
	if _, err := r.catalog.Pin(t.Context(), &pb.PinRequest{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	if s := l.untilGeneration(t, 3); regionOf(t, s, "a") != "eu" || s.Version().GetRevision() != 1 {
		t.Fatal(s.Version())
	}
	if _, err := r.catalog.Unpin(t.Context(), &pb.UnpinRequest{}); err != nil {
		t.Fatal(err)
	}
	if got := regionOf(t, l.untilGeneration(t, 4), "a"); got != "us" {
		t.Fatal(got)
	}
	if _, err := r.fleet.Drain(t.Context(), &pb.DrainRequest{Endpoint: "a", Actor: "ann", DurationUs: time.Hour.Microseconds()}); err != nil {
		t.Fatal(err)
	}
	s := l.untilGeneration(t, 5)
	c, _, err := wire.Catalog(s, false)
	if err != nil || len(c.Overrides) != 1 || !c.Overrides[0].Drain {
		t.Fatal(c.Overrides, err)
	}
	if left := c.Overrides[0].Until - l.now(); left < time.Hour.Microseconds()-10e6 || left > time.Hour.Microseconds() {
		t.Fatalf("%d µs left of an hour", left)
	}
}

func TestAViewHoldsWhatItsWorkloadsReachAndNothingElse(t *testing.T) {
	r := start(t, Config{DataDir: t.TempDir()})
	r.publish(t, 0, "eu")
	l := connect(t, r, "one", "search")
	want := `model "m", provider "p", endpoint "b", workload "search", tenant "default"`
	if got := names(l.untilGeneration(t, 1)); got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	if _, err := r.fleet.Drain(t.Context(), &pb.DrainRequest{Endpoint: "a"}); err != nil {
		t.Fatal(err)
	}
	if got := names(l.untilGeneration(t, 2)); got != want {
		t.Fatalf("after a drain elsewhere %s, want %s", got, want)
	}
	empty, err := r.catalog.Publish(t.Context(), &pb.PublishRequest{Sources: &pb.Sources{}, AnyBase: true, Force: true})
	if err != nil {
		t.Fatal(err)
	}
	s := l.untilGeneration(t, empty.GetHead().GetGeneration())
	if s.Len() != 0 || s.Empty() != pb.EmptyReason_EMPTY_REASON_PUBLISHED_EMPTY {
		t.Fatal(names(s), s.Empty())
	}
}

func TestAClientThatRunsHeadIsNotBehind(t *testing.T) {
	r := start(t, Config{DataDir: t.TempDir()})
	r.publish(t, 0, "eu")
	connect(t, r, "one").untilGeneration(t, 1)
	eventually(t, func() bool {
		s, err := r.fleet.Status(t.Context(), &pb.StatusRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return s.GetLeaves() == 1 && s.GetNodes() == 1 && len(s.GetBehind()) == 0 && s.GetEndpoints() == 2 && s.GetWorkloads() == 2
	})
}

func TestFailuresThatLeavesReportOpenTheFleetsBreakerForAll(t *testing.T) {
	r := start(t, Config{DataDir: t.TempDir()})
	r.publish(t, 0, "eu")
	one, two := connect(t, r, "one"), connect(t, r, "two")
	c, _, err := wire.Catalog(one.untilGeneration(t, 1), false)
	if err != nil {
		t.Fatal(err)
	}
	fleet := one.until(t, pb.Track_TRACK_FLEET, func(*wire.State) bool { return true })
	for i, l := range []*leaf{one, two} {
		report := wire.EncodeReport(l.now(), &route.Report{
			Leaf: []string{"one", "two"}[i], Incarnation: 1, Sequence: 1, At: l.now(), Interval: 1e6, Term: fleet.Version().GetTerm(),
			Rows:  []route.Row{{Endpoint: "a", Identity: c.Endpoints[0].Identity, Workload: "chat", AdmitFailed: 5}},
			Votes: []route.Vote{{Endpoint: "a", Identity: c.Endpoints[0].Identity, Reason: "5 in a row failed"}},
		})
		eventually(t, func() bool { return l.link.Status().Connected })
		l.link.Report(l.now(), &pb.Report{Leaves: []*pb.LeafReport{report}})
	}
	for _, l := range []*leaf{one, two} {
		l.until(t, pb.Track_TRACK_FLEET, func(s *wire.State) bool {
			f, err := wire.Fleet(s)
			return err == nil && len(f.Endpoints) > 0 && len(f.Endpoints[0].Breakers) > 0 && f.Endpoints[0].Breakers[0].State == route.FleetOpen
		})
	}
	s, err := r.fleet.Status(t.Context(), &pb.StatusRequest{})
	if err != nil || len(s.GetOpen()) != 1 || s.GetOpen()[0].GetName() != "a" || len(s.GetOpen()[0].GetEvidence()) == 0 {
		t.Fatal(s.GetOpen(), err)
	}
	if got := s.GetOpen()[0].GetWitnesses(); got != 2 {
		t.Fatalf("%d witnesses", got)
	}
	e, err := r.fleet.Explain(t.Context(), &pb.ExplainRequest{Workload: "chat"})
	if err != nil || e.GetCandidates()[0].GetReason() != route.ReasonBreakerOpen.String() {
		t.Fatal(e, err)
	}
}

func TestAChildIsToldToGoElsewhereWhenAReplicaStops(t *testing.T) {
	r := start(t, Config{DataDir: t.TempDir()})
	r.publish(t, 0, "eu")
	l := connect(t, r, "one")
	l.untilGeneration(t, 1)
	begun := time.Now()
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Fatalf("it took %v to stop", took)
	}
	eventually(t, func() bool { return !l.link.Status().Connected })
}

func TestAReplicaIsNotReadyBeforeItReadAHead(t *testing.T) {
	r := start(t, Config{EtcdEndpoints: []string{"unix://" + filepath.Join(t.TempDir(), "none")}})
	stream, err := syncTo(t, r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "not ready") {
		t.Fatal(err)
	}
	if _, err := r.fleet.Status(t.Context(), &pb.StatusRequest{}); status.Code(err) != codes.Unavailable {
		t.Fatal(err)
	}
}

func TestWhileEtcdIsAwayRoutingGoesOnAndChangesAreRefused(t *testing.T) {
	e := startEtcd(t)
	r := start(t, Config{EtcdEndpoints: []string{e.address()}})
	eventually(t, func() bool {
		_, err := r.catalog.Publish(t.Context(), &pb.PublishRequest{Sources: catalogOf("eu"), AnyBase: true})
		return err == nil
	})
	eventually(r.serves(t, 1))
	e.stop()
	_, err := r.catalog.Publish(t.Context(), &pb.PublishRequest{Sources: catalogOf("us"), Base: 1})
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "etcd") || !strings.Contains(err.Error(), "try again") {
		t.Fatal(err)
	}
	l := connect(t, r, "one")
	l.untilGeneration(t, 1)
	x, err := r.fleet.Explain(t.Context(), &pb.ExplainRequest{Workload: "chat"})
	if err != nil || x.GetShed() != "" {
		t.Fatal(x, err)
	}
	eventually(t, func() bool {
		s, err := r.fleet.Status(t.Context(), &pb.StatusRequest{})
		return err == nil && !s.GetStoreReachable() && s.GetHeadAgeUs() > 0
	})
	e.start(t)
	eventually(t, func() bool {
		_, err := r.catalog.Publish(t.Context(), &pb.PublishRequest{Sources: catalogOf("us"), Base: 1})
		return err == nil
	})
	if got := regionOf(t, l.untilGeneration(t, 2), "a"); got != "us" {
		t.Fatal(got)
	}
}

func TestASocketServesItsOwnerAlone(t *testing.T) {
	dir, err := os.MkdirTemp("", "pm") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "run", "s")
	r := start(t, Config{DataDir: t.TempDir(), Socket: path})
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info.Mode(), err)
	}
	_, err = New(t.Context(), Config{DataDir: t.TempDir(), Socket: path})
	if err == nil || !strings.Contains(err.Error(), "another process serves it") {
		t.Fatal(err)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
}

func TestCheckNamesEveryFault(t *testing.T) {
	err := Config{Listen: "0.0.0.0:1", Socket: "s", DataDir: "d", EtcdEndpoints: []string{"e:1"}, Namespace: "A"}.Check()
	for _, want := range []string{"not a loopback address", "absolute", "choose one", `namespace "A"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("it does not say %q: %v", want, err)
		}
	}
	for _, ok := range []string{"127.0.0.1:0", "[::1]:1", "localhost:1"} {
		if err := (Config{Listen: ok, DataDir: "d"}).Check(); err != nil {
			t.Errorf("%s: %v", ok, err)
		}
	}
}

func TestCheckWantsAnAddressThatOtherReplicasCanUse(t *testing.T) {
	cluster := []string{"127.0.0.1:2379"}
	for _, c := range []struct {
		name   string
		config Config
		fault  string
	}{
		{"a host and a port", Config{Peer: Peer{Advertise: "cp-1.example:7400"}}, ""},
		{"a socket", Config{Peer: Peer{Advertise: "unix:///run/cp.sock"}}, ""},
		{"no port", Config{Peer: Peer{Advertise: "cp-1.example"}}, "want host:port or unix:///path"},
		{"all interfaces", Config{Peer: Peer{Advertise: "0.0.0.0:7400"}}, "want host:port or unix:///path"},
		{"any port", Config{Peer: Peer{Advertise: "cp-1:0"}}, "want host:port or unix:///path"},
		{"a relative socket", Config{Peer: Peer{Advertise: "unix://cp.sock"}}, "want host:port or unix:///path"},
		{"where it listens is everywhere", Config{Listen: "[::]:7400"}, "advertise: missing"},
		{"a long name", Config{Peer: Peer{Name: strings.Repeat("n", 257)}}, "name: 257 bytes, at most 256"},
	} {
		if c.config.Listen == "" {
			c.config.Listen = "127.0.0.1:7400"
		}
		c.config.EtcdEndpoints = cluster
		err := c.config.checkPeer()
		if (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: %v, want %q", c.name, err, c.fault)
		}
	}
}

// What people did is in the log too, with the hash that the store's own chain must have.
func TestEachAuditRecordsHashIsLogged(t *testing.T) {
	var log strings.Builder
	r := start(t, Config{DataDir: t.TempDir(), Logger: hclog.New(&hclog.LoggerOptions{Output: &log, Mutex: &sync.Mutex{}})})
	r.publish(t, 0, "eu")
	records, err := r.store.Audit(t.Context(), DefaultNamespace, store.AuditQuery{})
	if err != nil || len(records) == 0 {
		t.Fatal(records, err)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	for _, a := range records {
		if !strings.Contains(log.String(), hex.EncodeToString(a.Hash)) {
			t.Errorf("record %d of %s is not in the log", a.Record.GetNumber(), a.Record.GetVerb())
		}
	}
}
