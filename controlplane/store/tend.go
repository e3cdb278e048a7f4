package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	orphanAge   = time.Hour            // a publish is given so long from its first chunk to its commit
	eventsAge   = 72 * time.Hour       // control-plane.md, etcd layout
	auditAge    = 400 * 24 * time.Hour // a year, and the time to look back on it
	auditLeast  = 1000                 // records that stay whatever their age
	deletedOnce = 10_000               // numbers at most that one pass takes from events, and from the audit
)

// Keep says what housekeeping leaves, beside what head, its pins and tags name.
type Keep struct {
	Now     time.Time // zero: the clock's
	Running []uint64  // revisions that leaves run
}

// Tend is the housekeeping of who leads, each minute or so: overrides that ran out,
// chunks that no revision names, revisions above 50, events of over 72 h, audit records of over
// 400 days. Every write is fenced. One pass does a bounded part; the next goes on. Deletes go on
// when etcd is full, and what an embedded member can do about that is done.
func (s *Store) Tend(ctx context.Context, namespace string, t *Tenure, keep Keep) error {
	k, err := keysOf(namespace)
	if err != nil {
		return err
	}
	if keep.Now.IsZero() {
		keep.Now = s.now()
	}
	h := housework{store: s, keys: k, tenure: t, keep: keep}
	var errs []error
	for _, part := range []func(context.Context) error{h.chunks, h.revisions, h.events, h.audit, h.overrides, s.relieve} {
		err := part(ctx)
		if errors.Is(err, ErrLost) || ctx.Err() != nil {
			return err
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// housework is one pass.
type housework struct {
	store  *Store
	keys   keys
	tenure *Tenure
	keep   Keep
}

// overrides takes back what ran out, audited.
func (h *housework) overrides(ctx context.Context) error {
	all, err := h.store.overrides(ctx, h.keys)
	if err != nil {
		return err
	}
	over := func(o *pb.StoredOverride) bool { return o.Until != nil && !o.GetUntil().AsTime().After(h.keep.Now) }
	for _, o := range all {
		if !over(o) {
			continue
		}
		r := removal{
			Removal: Removal{Kind: overrideKind(o.GetOverride()), Endpoint: o.GetOverride().GetEndpoint(), Actor: "pointsman", Reason: "it ran out"},
			is:      over, tenure: h.tenure,
		}
		if _, err := h.store.remove(ctx, h.keys, r); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}

// events deletes what is over 72 h old.
func (h *housework) events(ctx context.Context) error {
	all := h.store.eventSeries(h.keys)
	from, to, err := h.old(ctx, all, eventsAge)
	if err != nil || from >= to {
		return err
	}
	_, err = h.store.fenced(ctx, h.tenure, nil, []clientv3.Op{clientv3.OpDelete(h.keys.events(), clientv3.WithRange(h.keys.event(to)))})
	return err
}

// audit deletes the oldest records, and says where the chain begins now.
func (h *housework) audit(ctx context.Context) error {
	from, to, err := h.old(ctx, h.store.auditSeries(h.keys), auditAge)
	if err != nil || from >= to {
		return err
	}
	g, err := h.store.ground(ctx, h.keys)
	if err != nil {
		return err
	}
	if g.audited < auditLeast {
		return nil
	}
	if to = min(to, g.audited-auditLeast+1); from >= to {
		return nil
	}
	_, err = h.store.fenced(ctx, h.tenure, nil, []clientv3.Op{
		clientv3.OpDelete(h.keys.audits(), clientv3.WithRange(h.keys.audit(to))),
		clientv3.OpPut(h.keys.auditFrom(), strconv.FormatUint(to, 10)),
	})
	return err
}

// old gives the numbers from..to-1 that are older than age.
func (h *housework) old(ctx context.Context, all series, age time.Duration) (from, to uint64, err error) {
	kv, err := all.first(ctx, 0)
	if err != nil || kv == nil {
		return 0, 0, err
	}
	before := h.keep.Now.Add(-age)
	oldest, err := all.time(kv.Value)
	if err != nil {
		return 0, 0, fmt.Errorf("decode %s: %w", kv.Key, err)
	}
	if from = numberIn(string(kv.Key)); !oldest.Before(before) {
		return from, from, nil // as most often
	}
	to, err = all.since(ctx, from, before)
	return from, min(to, from+deletedOnce), err
}
