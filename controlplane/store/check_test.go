package store

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func check(t *testing.T, s *Store) []*pb.CheckFinding {
	t.Helper()
	got, err := s.Check(t.Context(), ns)
	must(t, err)
	for _, f := range got {
		if f.GetRemedy() == "" {
			t.Errorf("%s: and what is to be done?", f.GetSummary())
		}
	}
	return got
}

func wantFinding(t *testing.T, s *Store, severity pb.Severity, summary string) {
	t.Helper()
	got := check(t, s)
	for _, f := range got {
		if f.GetSeverity() == severity && strings.Contains(f.GetSummary(), summary) {
			return
		}
	}
	t.Fatalf("no finding of %q: %v", summary, got)
}

func TestAStoreThatIsWellHasNoFindings(t *testing.T) {
	for name, s := range map[string]*Store{"embedded": open(t), "external": startExternal(t).dial(t)} {
		leads(t, s, "a")
		publish(t, s, 0, content("one", "chat"))
		if got := check(t, s); len(got) != 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestAStoreThatDoesNotAnswerIsAFindingToo(t *testing.T) {
	t.Parallel()
	e := startExternal(t)
	s := e.dial(t)
	s.opTimeout = 200 * time.Millisecond
	e.stop()
	wantFinding(t, s, pb.Severity_SEVERITY_ERROR, "no majority of etcd answers")
}

func TestAHistoryThatIsNeverCompactedIsSeen(t *testing.T) {
	s := startExternal(t).dial(t)
	grantMany(t, s, 10)
	for _, c := range []struct {
		n    int64
		more bool
	}{{5, true}, {1000, false}} {
		if more, err := s.keepsMore(t.Context(), c.n); more != c.more || err != nil {
			t.Errorf("%d: %v %v", c.n, more, err)
		}
	}
	got, err := s.client.Get(t.Context(), metaKey)
	must(t, err)
	_, err = s.client.Compact(t.Context(), got.Header.Revision)
	must(t, err)
	if more, err := s.keepsMore(t.Context(), 5); more || err != nil {
		t.Error(more, err)
	}
}

func TestTheClockOfThisHostIsComparedWithTheAudit(t *testing.T) {
	s := open(t)
	leads(t, s, "a")
	b := &pb.RoleBinding{Identity: "cn/a", Role: "reader", Time: timestamppb.Now()}
	must(t, s.PutRole(t.Context(), ns, b))
	s.now = func() time.Time { return t0.Add(-time.Hour) }
	wantFinding(t, s, pb.Severity_SEVERITY_WARNING, "in the future")
}

func TestFindingsByWhatWasSeen(t *testing.T) {
	well := func() *facts {
		return &facts{now: t0, audited: t0, leader: &Leader{}, members: []memberFacts{
			{name: "m1", status: &clientv3.StatusResponse{DbSize: 1 << 20, DbSizeInUse: 1 << 20, DbSizeQuota: 2 << 30, RaftAppliedIndex: 20_000}},
			{name: "m2", status: &clientv3.StatusResponse{DbSize: 1 << 20, DbSizeInUse: 1 << 20, RaftAppliedIndex: 20_000}}, // of an etcd that tells no quota
		}}
	}
	for name, c := range map[string]struct {
		change func(*facts)
		want   []string
	}{
		"all is well":   {func(*facts) {}, nil},
		"no quorum":     {func(f *facts) { f.quorum = ErrUnavailable }, []string{"ERROR no majority of etcd answers: etcd is out of reach"}},
		"a member away": {func(f *facts) { f.members[0] = memberFacts{name: "m1", address: "a:1", err: errors.New("refused")} }, []string{"WARNING etcd member m1 at a:1 does not answer: refused"}},
		"full, said twice": {func(f *facts) {
			f.members[0].status.Errors, f.members[1].status.Errors = []string{"alarm:NOSPACE"}, []string{"alarm:NOSPACE"}
		}, []string{"ERROR etcd is full (alarm NOSPACE): it takes deletes only"}},
		"corrupt":        {func(f *facts) { f.members[0].status.Errors = []string{"memberID:1 alarm:CORRUPT "} }, []string{"ERROR etcd found corrupt data (alarm CORRUPT)"}},
		"near its quota": {func(f *facts) { f.members[0].status.DbSize, f.members[0].status.DbSizeInUse = 1800<<20, 1800<<20 }, []string{"WARNING etcd member m1 uses 1800 of the 2048 MiB of its quota"}},
		"fragmented":     {func(f *facts) { f.members[1].status.DbSize, f.members[1].status.DbSizeInUse = 100<<20, 10<<20 }, []string{"WARNING etcd member m2 has 100 MiB on disk and 10 MiB in use"}},
		"embedded, its free pages are used again": {func(f *facts) {
			f.embedded = true
			f.members[1].status.DbSize, f.members[1].status.DbSizeInUse = 100<<20, 10<<20
		}, nil},
		"lagging":         {func(f *facts) { f.members[1].status.RaftAppliedIndex = 10 }, []string{"WARNING etcd member m2 is 19990 entries behind"}},
		"long history":    {func(f *facts) { f.long = true }, []string{"WARNING etcd keeps over 100000 revisions of its own history: automatic compaction seems to be off"}},
		"clock":           {func(f *facts) { f.audited = t0.Add(time.Minute) }, []string{"WARNING the last audit record is from 1m0s in the future: this host's clock is behind, or another one's ahead"}},
		"nobody leads":    {func(f *facts) { f.leader = nil }, []string{"WARNING no replica leads: breakers and speeds are not judged"}},
		"store_regressed": {func(f *facts) { f.behind = &Regression{1, 7, "cn/a, cn/b"} }, []string{"ERROR store_regressed: epoch 1, generation 7 is held by cn/a, cn/b, and etcd has less"}},
		"the worst first": {func(f *facts) { f.leader, f.behind = nil, &Regression{1, 7, "x"} }, []string{"ERROR store_regressed: epoch 1, generation 7 is held by x, and etcd has less", "WARNING no replica leads: breakers and speeds are not judged"}},
	} {
		f := well()
		c.change(f)
		var got []string
		for _, finding := range findings(f) {
			got = append(got, strings.TrimPrefix(finding.GetSeverity().String(), "SEVERITY_")+" "+finding.GetSummary())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
