package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	claimsThatCount = 2 // identities; one alone may lie: protocol.md, rule 3
	maxClaims       = 16
)

// Regression says that a namespace is behind what others hold of it: the store lost
// writes, as by a restored backup. Publishes are refused until Adopt, or until head passes it.
type Regression struct {
	Epoch, Generation uint64 // the highest that is held elsewhere
	By                string // who hold it
}

// behind is what this process knows of heads that others hold and etcd does not.
type behind struct {
	mu  sync.Mutex
	of  map[keys]*Regression
	say map[keys]map[string]version // by identity; all are ahead of head
}

type version struct{ epoch, generation uint64 }

func versionOf(h interface {
	GetEpoch() uint64
	GetGeneration() uint64
}) version {
	return version{h.GetEpoch(), h.GetGeneration()}
}

// above orders heads of one store: protocol.md, rule 2.
func (v version) above(w version) bool {
	return v.epoch > w.epoch || v.epoch == w.epoch && v.generation > w.generation
}

// Regressed is why publishes are refused in a namespace; nil: they are not.
func (s *Store) Regressed(namespace string) *Regression {
	k, err := keysOf(namespace)
	if err != nil {
		return nil
	}
	s.behind.mu.Lock()
	defer s.behind.mu.Unlock()
	if r := s.behind.of[k]; r != nil {
		out := *r
		return &out
	}
	return nil
}

// Claim takes a catalog version that an identity holds and that is above what this
// replica serves. It reads head anew and says whether that is behind the claim. The claims of two
// identities make the namespace regressed; a claim changes nothing else. What is of another
// store is none: refuse that before.
func (s *Store) Claim(ctx context.Context, namespace, identity string, v *pb.Version) (bool, error) {
	h, err := s.Head(ctx, namespace)
	if err != nil {
		return false, err
	}
	k := keys(root + namespace + "/") // checked by Head
	s.behind.mu.Lock()
	defer s.behind.mu.Unlock()
	b := &s.behind
	if h.GetStoreId() != v.GetStoreId() || !versionOf(v).above(versionOf(h)) {
		delete(b.say[k], identity)
		return false, nil
	}
	if b.say == nil {
		b.say = map[keys]map[string]version{}
	}
	if b.say[k] == nil {
		b.say[k] = map[string]version{}
	}
	if say := b.say[k]; len(say) < maxClaims {
		say[identity] = versionOf(v)
	}
	b.count(k)
	return true, nil
}

// count makes two claims a regression.
func (b *behind) count(k keys) {
	say := b.say[k]
	if len(say) < claimsThatCount {
		return
	}
	var top version
	for _, v := range say {
		if v.above(top) {
			top = v
		}
	}
	b.raise(k, Regression{Epoch: top.epoch, Generation: top.generation, By: strings.Join(slices.Sorted(maps.Keys(say)), ", ")})
}

func (b *behind) raise(k keys, r Regression) {
	if b.of == nil {
		b.of = map[keys]*Regression{}
	}
	b.of[k] = &r
}

// regress is for who saw it with its own eyes.
func (s *Store) regress(k keys, r Regression) {
	s.behind.mu.Lock()
	defer s.behind.mu.Unlock()
	s.behind.raise(k, r)
}

// settle forgets claims that head reached, and a regression that it passed.
func (b *behind) settle(k keys, h *pb.Head) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := versionOf(h)
	maps.DeleteFunc(b.say[k], func(_ string, v version) bool { return !v.above(at) })
	if r := b.of[k]; r != nil && !(version{r.Epoch, r.Generation}).above(at) {
		delete(b.of, k)
	}
}

// refuse is asked before a revision is added or another one served.
func (b *behind) refuse(k keys, h *pb.Head) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.of[k] // settled when h was read
	if r == nil {
		return nil
	}
	return fmt.Errorf("head is at epoch %d, generation %d; %s: epoch %d, generation %d: %w",
		h.GetEpoch(), h.GetGeneration(), r.By, r.Epoch, r.Generation, ErrRegressed)
}
