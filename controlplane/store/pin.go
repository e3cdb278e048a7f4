package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// PinChange sets or takes back a pin, of one workload or of the fleet.
type PinChange struct {
	Workload string // empty: the fleet
	Revision uint64 // of Pin alone
	Reason   string
	Actor    string
	Compose  Compose
}

// Pin makes the fleet, or one workload, run a revision until Unpin.
func (s *Store) Pin(ctx context.Context, namespace string, p PinChange) (*pb.Head, error) {
	return s.repin(ctx, namespace, "pin", p, func(k keys, a *act) error {
		key := k.revision(p.Revision)
		if _, err := s.revision(ctx, k, p.Revision); err != nil {
			return err
		}
		a.when = append(a.when, present(key))
		if p.Workload == "" {
			a.head.Pin = p.Revision
			return nil
		}
		a.head.Pins = withoutPin(a.head.GetPins(), p.Workload)
		a.head.Pins = append(a.head.Pins, &pb.WorkloadPin{Workload: p.Workload, Revision: p.Revision})
		slices.SortFunc(a.head.Pins, func(x, y *pb.WorkloadPin) int { return strings.Compare(x.GetWorkload(), y.GetWorkload()) })
		return nil
	})
}

// Unpin takes a pin back: what is published serves again, there. ErrNotFound: nothing was pinned.
func (s *Store) Unpin(ctx context.Context, namespace string, p PinChange) (*pb.Head, error) {
	return s.repin(ctx, namespace, "unpin", p, func(_ keys, a *act) error {
		pins := withoutPin(a.head.GetPins(), p.Workload)
		switch {
		case p.Workload == "" && a.head.GetPin() == 0:
			return fmt.Errorf("the fleet is not pinned: %w", ErrNotFound)
		case p.Workload == "":
			a.record.Revision, a.head.Pin = a.head.GetPin(), 0
			return nil
		case len(pins) == len(a.head.GetPins()):
			return fmt.Errorf("workload %q is not pinned: %w", p.Workload, ErrNotFound)
		}
		a.head.Pins = pins
		return nil
	})
}

func withoutPin(pins []*pb.WorkloadPin, workload string) []*pb.WorkloadPin {
	return slices.DeleteFunc(slices.Clone(pins), func(p *pb.WorkloadPin) bool { return p.GetWorkload() == workload })
}

// repin changes pins, and with them what is served.
func (s *Store) repin(ctx context.Context, namespace, verb string, p PinChange, change func(keys, *act) error) (*pb.Head, error) {
	k, err := keysOf(namespace)
	if err != nil {
		return nil, err
	}
	c := composer{store: s, keys: k, compose: p.Compose}
	return s.commit(ctx, k, func(g *ground) (*act, error) {
		if err := s.behind.refuse(k, g.head); err != nil {
			return nil, err
		}
		a := newAct(g, &pb.AuditRecord{Verb: verb, Subject: p.Workload, Actor: p.Actor, Reason: p.Reason, Revision: p.Revision})
		if err := change(k, a); err != nil {
			return nil, err
		}
		at, err := s.publishedAt(ctx, k, g.head, len(a.head.GetPins()) > 0)
		if err != nil {
			return nil, err
		}
		return a, c.serve(ctx, a, at)
	})
}

// publishedAt reads what is published, with its content when pins go over it.
func (s *Store) publishedAt(ctx context.Context, k keys, h *pb.Head, content bool) (*published, error) {
	newest, err := s.newest(ctx, k, h)
	if err != nil || !content {
		return &published{newest: newest}, err
	}
	r, err := s.revision(ctx, k, h.GetPublished())
	if err != nil {
		return nil, err
	}
	c, err := s.readContent(ctx, k, r)
	return &published{content: c, digest: r.GetContentDigest(), newest: newest}, err
}
