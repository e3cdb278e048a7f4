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
	claimsThatCount = 2       // one alone may lie: protocol.md, rule 3
	claimsOf        = 3       // of so many who could claim, one must: a few liars stop nobody's publishes
	maxEpochs       = 1 << 20 // an epoch further ahead is nobody's: a store was never adopted so often
)

// Regression says that a namespace is behind what others hold of it: the store lost
// writes, as by a restored backup. Publishes are refused until Adopt, or until head passes it.
type Regression struct {
	Epoch, Generation uint64 // the highest that is held elsewhere
	By                string // who hold it
}

// behind is what this process knows of heads that others hold and etcd does not.
type behind struct {
	mu sync.Mutex
	of map[keys]*regression
}

type regression struct {
	Regression
	claimed bool // others said so; this process did not see it
}

// Claims are catalog versions above what a replica serves.
type Claims struct {
	Held map[string]*pb.Version // by who holds it; no two can be made up by one
	Of   int                    // how many such there are, with those who hold none
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
		out := r.Regression
		return &out
	}
	return nil
}

// Claim takes what others hold. It reads head anew and says whether that is behind any of it. Two of them,
// if that is a third of all, make the namespace regressed until it is adopted, or until they are
// outvoted; a claim changes nothing else. What is of another store is none.
func (s *Store) Claim(ctx context.Context, namespace string, c Claims) (bool, error) {
	h, err := s.Head(ctx, namespace)
	if err != nil {
		return false, err
	}
	k := keys(root + namespace + "/") // checked by Head
	var by []string
	var top version
	for _, who := range slices.Sorted(maps.Keys(c.Held)) {
		held := c.Held[who]
		v, head := versionOf(held), versionOf(h)
		if h.GetStoreId() != held.GetStoreId() || !v.above(head) || v.epoch-head.epoch > maxEpochs {
			continue
		}
		if by = append(by, who); v.above(top) {
			top = v
		}
	}
	s.behind.count(k, by, Regression{Epoch: top.epoch, Generation: top.generation}, c.Of)
	return len(by) > 0, nil
}

const maxNamed = 16 // of those who claim

// count makes claims a regression, if they are enough, and takes back one that is outvoted.
func (b *behind) count(k keys, by []string, r Regression, of int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	seen := b.of[k] != nil && !b.of[k].claimed
	switch enough := len(by)*claimsOf >= of; {
	case seen:
	case enough && len(by) >= claimsThatCount:
		r.By = strings.Join(by[:min(len(by), maxNamed)], ", ")
		b.raise(k, regression{r, true})
	case !enough:
		delete(b.of, k)
	}
}

func (b *behind) raise(k keys, r regression) {
	if b.of == nil {
		b.of = map[keys]*regression{}
	}
	b.of[k] = &r
}

// regress is for who saw it with its own eyes.
func (s *Store) regress(k keys, r Regression) {
	s.behind.mu.Lock()
	defer s.behind.mu.Unlock()
	s.behind.raise(k, regression{Regression: r})
}

// settle forgets a regression that head passed.
func (b *behind) settle(k keys, h *pb.Head) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := versionOf(h)
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
