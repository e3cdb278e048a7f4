package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	etcdpb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// longHistory is how many of etcd's own revisions are kept where compaction works: at our pace of
// a write a second this is over a day.
const longHistory = 100_000

// facts are what Check looked at; findings judges them.
type facts struct {
	embedded bool
	quorum   error // why no majority answered; nil: one did
	members  []memberFacts
	long     bool // etcd keeps more of its own history than longHistory
	leader   *Leader
	led      error // why it is not known who leads
	now      time.Time
	audited  time.Time // of the last audit record; zero: there is none
	behind   *Regression
}

type memberFacts struct {
	name, address string
	status        *clientv3.StatusResponse
	err           error
}

// Check looks at etcd and at what is kept there for what hurts now or will later. It always
// answers, within seconds: what cannot be looked at is a finding.
func (s *Store) Check(ctx context.Context, namespace string) ([]*pb.CheckFinding, error) {
	k, err := keysOf(namespace)
	if err != nil {
		return nil, err
	}
	f := facts{embedded: s.member != nil, now: s.now()}
	f.members, f.quorum = s.members(ctx)
	if f.quorum == nil {
		f.long, f.quorum = s.keepsMore(ctx, longHistory)
	}
	if f.quorum == nil {
		f.audited, f.quorum = s.lastAudited(ctx, k)
	}
	if f.quorum == nil {
		f.leader, _, f.led = s.leader(ctx)
	}
	f.behind = s.Regressed(namespace)
	return findings(&f), ctx.Err()
}

// members asks each member for itself.
func (s *Store) members(ctx context.Context) ([]memberFacts, error) {
	list, err := s.listMembers(ctx)
	if list == nil {
		return nil, err
	}
	out := make([]memberFacts, len(list.Members))
	var asking sync.WaitGroup
	for i, m := range list.Members {
		asking.Go(func() { out[i] = s.askMember(ctx, m) })
	}
	asking.Wait()
	return out, err
}

// listMembers asks a majority, and else anybody; the error is the majority's.
func (s *Store) listMembers(ctx context.Context) (*clientv3.MemberListResponse, error) {
	asking, cancel := context.WithTimeout(ctx, s.opTimeout)
	defer cancel()
	list, err := s.client.MemberList(asking)
	if err == nil {
		return list, nil
	}
	anybody, done := context.WithTimeout(ctx, s.opTimeout)
	defer done()
	list, failed := s.client.MemberList(anybody, clientv3.WithSerializable())
	if failed != nil {
		list = nil
	}
	return list, classify("ask etcd's members", err)
}

// askMember tries each of its addresses.
func (s *Store) askMember(ctx context.Context, m *etcdpb.Member) memberFacts {
	f := memberFacts{name: m.GetName(), err: fmt.Errorf("it names no address for clients")}
	addresses := m.GetClientURLs()
	if s.member != nil {
		addresses = []string{"in this process"} // not dialled
	}
	for _, f.address = range addresses {
		asking, cancel := context.WithTimeout(ctx, s.opTimeout)
		f.status, f.err = s.client.Status(asking, f.address)
		cancel()
		if f.err == nil {
			break
		}
	}
	return f
}

// keepsMore says whether etcd still has what was n revisions ago.
func (s *Store) keepsMore(ctx context.Context, n int64) (bool, error) {
	got, err := s.do(ctx, clientv3.OpGet(metaKey, clientv3.WithKeysOnly()))
	if err != nil {
		return false, classify("look at etcd's history", err)
	}
	then := got.Get().Header.Revision - n
	if then < 1 {
		return false, nil
	}
	_, err = s.do(ctx, clientv3.OpGet(metaKey, clientv3.WithKeysOnly(), clientv3.WithRev(then)))
	if compacted(err) {
		return false, nil
	}
	return err == nil, classify("look at etcd's history", err)
}

func (s *Store) lastAudited(ctx context.Context, k keys) (time.Time, error) {
	g, err := s.ground(ctx, k)
	if err != nil || g.tail == nil {
		return time.Time{}, err
	}
	r := &pb.AuditRecord{}
	err = proto.Unmarshal(g.tail, r)
	return r.GetTime().AsTime(), err
}
