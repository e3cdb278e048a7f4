package server

import "github.com/pointsman/pointsman/controlplane/sim/traffic"

const blockTokens = traffic.BlockTokens

// cache is the blocks of prompts that an engine keeps: those used last. One that is in use
// may go too: the request has its memory apart.
type cache struct {
	room   int
	table  []int32 // open addressing, at most half full: places in blocks; 0: free
	blocks []block // a ring by use, whose knot is the first
	free   []int32
}

// block is a block of a prompt.
type block struct {
	id           uint64
	owner        uint64 // the serial of the job that will compute it, or has; 0: it is there
	newer, older int32
}

func newCache(room int64) cache {
	c := cache{room: int(min(room, 1<<30))}
	if room > 0 {
		c.clear()
	}
	return c
}

func (c *cache) clear() {
	if c.room > 0 {
		c.table, c.blocks, c.free = make([]int32, 16), make([]block, 1), nil
	}
}

// hits is how many of the leading blocks are there, of so many at most.
func (c *cache) hits(ids []uint64, most int) int {
	if c.room == 0 {
		return 0
	}
	for i, id := range ids[:most] {
		if c.table[c.slot(id)] == 0 {
			return i
		}
	}
	return most
}

// use makes the blocks of a prompt those that were used last. The beginning is newer than
// what comes after it: that would be worthless without.
func (c *cache) use(ids []uint64, serial uint64) {
	ids = ids[:min(len(ids), c.room)]
	for i := len(ids) - 1; i >= 0; i-- {
		at := c.table[c.slot(ids[i])]
		if at == 0 {
			at = c.insert(ids[i], serial)
		} else {
			c.unlink(at)
		}
		c.link(at)
	}
}

// owned passes a block on from one owner to another.
func (c *cache) owned(id, from, to uint64) bool {
	if c.room == 0 {
		return false
	}
	at := c.table[c.slot(id)]
	if at == 0 || c.blocks[at].owner != from {
		return false
	}
	c.blocks[at].owner = to
	return true
}

// forget takes a block away from its owner.
func (c *cache) forget(id, owner uint64) {
	if c.room == 0 {
		return
	}
	if at := c.table[c.slot(id)]; at != 0 && c.blocks[at].owner == owner {
		c.remove(at)
	}
}

func (c *cache) insert(id, owner uint64) int32 {
	held := len(c.blocks) - 1 - len(c.free)
	if held == c.room {
		c.remove(c.blocks[0].newer) // beyond the knot is the oldest
	} else if 2*(held+1) > len(c.table) {
		c.grow()
	}
	at := c.place()
	c.blocks[at] = block{id: id, owner: owner}
	c.table[c.slot(id)] = at
	return at
}

func (c *cache) place() int32 {
	if n := len(c.free) - 1; n >= 0 {
		at := c.free[n]
		c.free = c.free[:n]
		return at
	}
	c.blocks = append(c.blocks, block{})
	return int32(len(c.blocks) - 1)
}

func (c *cache) grow() {
	old := c.table
	c.table = make([]int32, 2*len(old))
	for _, at := range old {
		if at != 0 {
			c.table[c.slot(c.blocks[at].id)] = at
		}
	}
}

// slot is where a block is in the table, or would be.
func (c *cache) slot(id uint64) int {
	i := c.home(id)
	for c.table[i] != 0 && c.blocks[c.table[i]].id != id {
		i = (i + 1) & (len(c.table) - 1)
	}
	return i
}

func (c *cache) home(id uint64) int { return int(mix(id)) & (len(c.table) - 1) }

// remove moves back what comes after it in the table, if it may be there: no gap remains on
// the way to any.
func (c *cache) remove(at int32) {
	mask := len(c.table) - 1
	gap := c.slot(c.blocks[at].id)
	for i := (gap + 1) & mask; c.table[i] != 0; i = (i + 1) & mask {
		if (i-c.home(c.blocks[c.table[i]].id))&mask >= (i-gap)&mask {
			c.table[gap] = c.table[i]
			gap = i
		}
	}
	c.table[gap] = 0
	c.unlink(at)
	c.free = append(c.free, at)
}

func (c *cache) link(at int32) {
	b, knot := &c.blocks[at], &c.blocks[0]
	b.older, b.newer = knot.older, 0
	c.blocks[knot.older].newer = at
	knot.older = at
}

func (c *cache) unlink(at int32) {
	b := &c.blocks[at]
	c.blocks[b.older].newer = b.newer
	c.blocks[b.newer].older = b.older
}
