package store

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Compose puts workload pins over a published content. Its result is stored as a
// revision of its own; nil: what is published serves as it is.
type Compose func(ctx context.Context, pins []*pb.WorkloadPin, published *pb.StoredContent) (*Composition, error)

// Composition is a content that people did not write.
type Composition struct {
	Content *pb.StoredContent
	Digest  []byte // of the effective resources
}

// published is what an act leaves published.
type published struct {
	content *pb.StoredContent
	digest  []byte
	newest  uint64 // the highest revision, after the act so far
}

// composer makes the composition of one act: once for the same content and pins, however
// often the act is tried.
type composer struct {
	store   *Store
	keys    keys
	compose Compose

	of      string // what made is of
	made    *Composition
	packed  *packed
	written bool
}

// serve sets what head serves: the fleet's pin, else what is published with the workload
// pins over it. Those must fit even while the fleet's pin hides them.
func (c *composer) serve(ctx context.Context, a *act, p *published) error {
	h, before := a.head, a.head.GetServing()
	h.Serving = h.GetPublished()
	if len(h.GetPins()) > 0 {
		if err := c.composed(ctx, h.GetPins(), p); err != nil {
			return err
		}
	}
	switch {
	case h.GetPin() != 0:
		h.Serving = h.GetPin()
		return nil
	case len(h.GetPins()) == 0 || c.made == nil || bytes.Equal(c.packed.digest, p.digest):
		return nil
	}
	return c.serveComposed(ctx, a, before, p.newest+1)
}

func (c *composer) composed(ctx context.Context, pins []*pb.WorkloadPin, p *published) error {
	of := fmt.Sprintf("%x: %s", p.digest, pinsText(pins))
	if c.of == of {
		return nil
	}
	made, err := c.compose(ctx, pins, p.content)
	if err != nil {
		return err
	}
	c.of, c.made, c.packed, c.written = of, made, nil, false
	if made != nil {
		c.packed, err = pack(made.Content, time.Now())
	}
	return err
}

// serveComposed adds the composition as the revision next, unless it is served already.
func (c *composer) serveComposed(ctx context.Context, a *act, before, next uint64) error {
	if before != 0 {
		r, err := c.store.revision(ctx, c.keys, before)
		if err != nil {
			return err
		}
		if bytes.Equal(r.GetContentDigest(), c.packed.digest) {
			a.head.Serving = before
			return nil
		}
	}
	if !c.written {
		if err := c.store.writeChunks(ctx, c.keys, c.packed); err != nil {
			return err
		}
		c.written = true
	}
	a.head.Serving = next
	return a.add(c.keys, &pb.RevisionInfo{
		Revision: next, Parent: a.head.GetPublished(), ComposedOf: a.head.GetPublished(), Digest: c.made.Digest,
		Author: a.record.GetActor(), Message: fmt.Sprintf("revision %d with %s", a.head.GetPublished(), pinsText(a.head.GetPins())),
	}, c.packed)
}

// pinsText says pins as people do: chat at 3, search at 5.
func pinsText(pins []*pb.WorkloadPin) string {
	var out []string
	for _, p := range pins {
		out = append(out, fmt.Sprintf("%s at %d", p.GetWorkload(), p.GetRevision()))
	}
	return strings.Join(out, ", ")
}
