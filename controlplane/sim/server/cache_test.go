package server

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestACacheKeepsWhatWasUsedLast(t *testing.T) {
	for _, room := range []int64{0, 1, 3, 40, 1000} {
		r := rand.New(rand.NewPCG(uint64(room), 3))
		c := newCache(room)
		var kept []uint64 // newest first
		for range 3000 {
			var ids []uint64
			for id := r.Uint64N(60) * 7919; len(ids) < r.IntN(12); id += 7919 * (1 + r.Uint64N(2)) {
				ids = append(ids, id)
			}
			hits := 0
			for hits < len(ids) && slices.Contains(kept, ids[hits]) {
				hits++
			}
			if got := c.hits(ids, len(ids)); got != hits {
				t.Fatalf("room %d: %d hits of %v, want %d of %v", room, got, ids, hits, kept)
			}
			serial := r.Uint64N(20) + 1
			c.use(ids, serial)
			for _, id := range slices.Backward(ids[:min(len(ids), int(room))]) {
				kept = slices.DeleteFunc(kept, func(k uint64) bool { return k == id })
				kept = slices.Insert(kept, 0, id)
			}
			kept = kept[:min(len(kept), int(room))]
			if r.IntN(4) == 0 && len(kept) > 0 {
				id := kept[r.IntN(len(kept))]
				c.owned(id, c.owner(id), 77)
				c.forget(id, 76)
				if c.hits([]uint64{id}, 1) != 1 {
					t.Fatalf("room %d: %d was forgotten by another than its owner", room, id)
				}
				c.forget(id, 77)
				kept = slices.DeleteFunc(kept, func(k uint64) bool { return k == id })
			}
		}
		if room > 0 && len(c.blocks)-1-len(c.free) != len(kept) {
			t.Errorf("room %d: %d blocks, want %d", room, len(c.blocks)-1-len(c.free), len(kept))
		}
	}
}

func (c *cache) owner(id uint64) uint64 { return c.blocks[c.table[c.slot(id)]].owner }
