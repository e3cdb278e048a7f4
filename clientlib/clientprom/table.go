package clientprom

import (
	"maps"
	"sync"
	"sync/atomic"
)

// table makes a value for each key once; who reads it never waits, and allocates nothing.
type table[K comparable, V any] struct {
	made atomic.Pointer[map[K]*V] // which is never written
	mu   sync.Mutex               // for who makes one
}

func (t *table[K, V]) load() map[K]*V {
	if made := t.made.Load(); made != nil {
		return *made
	}
	return nil
}

func (t *table[K, V]) of(k K, fill func(K) *V) *V {
	if v, ok := t.load()[k]; ok {
		return v
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if v, ok := t.load()[k]; ok {
		return v
	}
	v := fill(k)
	t.add(k, v)
	return v
}

// add is for who holds the lock.
func (t *table[K, V]) add(k K, v *V) {
	made := maps.Clone(t.load())
	if made == nil {
		made = map[K]*V{}
	}
	made[k] = v
	t.made.Store(&made)
}

// other stands for all names that have no label of their own.
const other = "other"

// names lets the first so many have a label of their own.
type names struct {
	most  int
	known table[string, struct{}]
}

func (n *names) of(name string) string {
	known := n.known.load()
	if _, ok := known[name]; ok {
		return name
	}
	if len(known) >= n.most {
		return other
	}
	n.known.mu.Lock()
	defer n.known.mu.Unlock()
	if len(n.known.load()) >= n.most {
		return other
	}
	n.known.add(name, nil)
	return name
}
