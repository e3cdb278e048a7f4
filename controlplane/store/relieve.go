package store

import (
	"context"
	"slices"
	"time"

	etcdpb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	relieveWithin = time.Minute // compacting and defragmenting up to the quota
	enoughSpace   = 0.8         // of the quota in use at most, to take writes again
)

// relieve gives a full embedded member its space back: nobody else can reach it. An etcd
// elsewhere is its operators'.
func (s *Store) relieve(ctx context.Context) error {
	if s.member == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, relieveWithin)
	defer cancel()
	alarms, err := s.client.AlarmList(ctx)
	if err != nil {
		return classify("list the alarms", err)
	}
	full := func(a *etcdpb.AlarmMember) bool { return a.GetAlarm() == etcdpb.AlarmType_NOSPACE }
	i := slices.IndexFunc(alarms.Alarms, full)
	if i < 0 {
		return nil
	}
	if err := s.defragment(ctx); err != nil {
		return err
	}
	st, err := s.client.Status(ctx, "")
	if err != nil {
		return classify("look at the space", err)
	}
	if float64(st.DbSize) > enoughSpace*float64(st.DbSizeQuota) {
		return ErrNoSpace
	}
	_, err = s.client.AlarmDisarm(ctx, (*clientv3.AlarmMember)(alarms.Alarms[i]))
	return classify("disarm the alarm", err)
}

// defragment drops etcd's own history first.
func (s *Store) defragment(ctx context.Context) error {
	got, err := s.do(ctx, clientv3.OpGet(metaKey, clientv3.WithKeysOnly()))
	if err != nil {
		return classify("look at the space", err)
	}
	if _, err := s.client.Compact(ctx, got.Get().Header.Revision, clientv3.WithCompactPhysical()); err != nil && !compacted(err) {
		return classify("compact", err)
	}
	// not by the client, whose Defragment needs what an in-process member has not
	return classify("defragment", s.member.etcd.Server.Backend().Defrag())
}
