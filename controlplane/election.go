package controlplane

import (
	"context"

	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// etcdElections hold elections in the store.
type etcdElections struct {
	store     *store.Store
	self      store.Candidate
	namespace string
}

func (e etcdElections) campaign(ctx context.Context, lead func(context.Context, term)) error {
	return e.store.Lead(ctx, e.self, func(ctx context.Context, t *store.Tenure) { lead(ctx, e.term(t)) })
}

func (e etcdElections) follow(ctx context.Context, changed func(*store.Leader)) error {
	return e.store.Leader(ctx, changed)
}

// term is what may be done in a tenure's name.
func (e etcdElections) term(t *store.Tenure) term {
	return term{
		number: t.Term(), holds: t.Holds,
		append: func(ctx context.Context, events []*pb.FleetEvent) error {
			return e.store.AppendEvents(ctx, e.namespace, t, events)
		},
		tend: func(ctx context.Context, k store.Keep) error { return e.store.Tend(ctx, e.namespace, t, k) },
	}
}
