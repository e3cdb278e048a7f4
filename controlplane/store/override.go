package store

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// The kinds of overrides, as keys and people name them.
const (
	Drain   = "drain"
	Breaker = "breaker"
	Weight  = "weight"
)

// overrideKind names what an override does; empty: nothing.
func overrideKind(o *pb.Override) string {
	switch o.GetWhat().(type) {
	case *pb.Override_Drain:
		return Drain
	case *pb.Override_Breaker:
		return Breaker
	case *pb.Override_Weight:
		return Weight
	}
	return ""
}

// overrideVerb is how the audit tells of one: with what it does, where a kind has several.
func overrideVerb(o *pb.Override) string {
	kind := overrideKind(o)
	switch what := o.GetWhat().(type) {
	case *pb.Override_Breaker:
		if what.Breaker.GetOpen() {
			return kind + " open"
		}
		return kind + " closed"
	case *pb.Override_Weight:
		return fmt.Sprintf("%s %d", kind, what.Weight)
	}
	return kind
}

// SetOverride stores an operator's word on one endpoint, in the place of an earlier one of
// its kind, if allow, which may be nil, finds no fault with it beside those that are stored. Its
// duration counts from now; 0: until it is removed.
func (s *Store) SetOverride(ctx context.Context, namespace string, o *pb.Override, allow func([]*pb.StoredOverride) error) (*pb.Head, error) {
	k, err := keysOf(namespace)
	if err != nil {
		return nil, err
	}
	kind := overrideKind(o)
	if kind == "" || !endpointForm.MatchString(o.GetEndpoint()) || o.GetDurationUs() < 0 {
		return nil, fmt.Errorf("override %q of endpoint %q for %d µs: %w", kind, o.GetEndpoint(), o.GetDurationUs(), ErrInvalid)
	}
	now := time.Now()
	stored := &pb.StoredOverride{Override: o, Set: timestamppb.New(now)}
	if o.GetDurationUs() > 0 {
		stored.Until = timestamppb.New(now.Add(time.Duration(o.GetDurationUs()) * time.Microsecond))
	}
	b, err := proto.Marshal(stored)
	if err != nil {
		return nil, fmt.Errorf("encode an override: %w", err)
	}
	return s.commit(ctx, k, func(g *ground) (*act, error) {
		if allow != nil { // every change of an override is one of head, which the transaction compares
			stored, err := s.overrides(ctx, k)
			if err == nil {
				err = allow(stored)
			}
			if err != nil {
				return nil, err
			}
		}
		a := newAct(g, &pb.AuditRecord{Verb: overrideVerb(o), Subject: o.GetEndpoint(), Actor: o.GetActor(), Reason: o.GetReason()})
		a.then = append(a.then, clientv3.OpPut(k.override(kind, o.GetEndpoint()), string(b)))
		return a, nil
	})
}

// Removal takes an override back.
type Removal struct {
	Kind, Endpoint string
	Actor, Reason  string
}

// RemoveOverride takes an override back. ErrNotFound: there is none.
func (s *Store) RemoveOverride(ctx context.Context, namespace string, r Removal) (*pb.Head, error) {
	k, err := keysOf(namespace)
	if err != nil {
		return nil, err
	}
	return s.remove(ctx, k, removal{Removal: r, is: func(*pb.StoredOverride) bool { return true }})
}

// removal takes back an override that is as its maker thinks.
type removal struct {
	Removal
	is     func(*pb.StoredOverride) bool
	tenure *Tenure // nil: a person does it
}

func (s *Store) remove(ctx context.Context, k keys, r removal) (*pb.Head, error) {
	key := k.override(r.Kind, r.Endpoint)
	return s.commit(ctx, k, func(g *ground) (*act, error) {
		got, err := s.do(ctx, clientv3.OpGet(key))
		if err != nil {
			return nil, classify("read an override", err)
		}
		found, err := overridesOf(got.Get().Kvs)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 || !r.is(found[0]) {
			return nil, fmt.Errorf("endpoint %q has no %s: %w", r.Endpoint, r.Kind, ErrNotFound)
		}
		a := newAct(g, &pb.AuditRecord{Verb: removed(r.Kind), Subject: r.Endpoint, Actor: r.Actor, Reason: r.Reason})
		a.tenure = r.tenure
		a.when = append(a.when, clientv3.Compare(clientv3.ModRevision(key), "=", got.Get().Kvs[0].ModRevision))
		a.then = append(a.then, clientv3.OpDelete(key))
		return a, nil
	})
}

// removed is how people say that an override was taken back.
func removed(kind string) string {
	if kind == "breaker" {
		return "breaker clear"
	}
	return "un" + kind
}

// Overrides lists what operators set, also what has run out and was not yet deleted.
func (s *Store) Overrides(ctx context.Context, namespace string) ([]*pb.StoredOverride, error) {
	k, err := keysOf(namespace)
	if err != nil {
		return nil, err
	}
	return s.overrides(ctx, k)
}

func (s *Store) overrides(ctx context.Context, k keys) ([]*pb.StoredOverride, error) {
	got, err := s.do(ctx, clientv3.OpGet(k.overrides(), clientv3.WithPrefix()))
	if err != nil {
		return nil, classify("read the overrides", err)
	}
	return overridesOf(got.Get().Kvs)
}

func overridesOf(found []*mvccpb.KeyValue) ([]*pb.StoredOverride, error) {
	var out []*pb.StoredOverride
	for _, kv := range found {
		o := &pb.StoredOverride{}
		if err := proto.Unmarshal(kv.Value, o); err != nil {
			return nil, fmt.Errorf("decode %s: %w", kv.Key, err)
		}
		out = append(out, o)
	}
	return out, nil
}
