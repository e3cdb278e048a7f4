package traffic

// Crowd is the clients that a source's requests come by: First, First+1 … Part i of them
// (from 0) is in proportion to (i+1)^−Zipf.
type Crowd struct {
	First   int
	Clients int // 0: 1
	Zipf    float64
}

func (c *Crowd) size() int { return max(1, c.Clients) }

// crowd draws who asks.
type crowd struct {
	first  int32
	table  *table
	sticky bool
	salt   uint64
	chance stream
}

func newCrowd(t *Trace, seed uint64) crowd {
	c := crowd{first: int32(t.Crowd.First), sticky: t.Sticky, chance: drawn(seed, t.Name, forClients)}
	c.table = newTable(zipf(t.Crowd.size(), t.Crowd.Zipf))
	c.salt = c.chance.next()
	return c
}

func (c *crowd) next(key string) int32 {
	u := c.chance.next() // by each request, so that keys move nobody else's draw
	if c.sticky && key != "" {
		u = mix(hash(key) ^ c.salt)
	}
	return c.first + int32(c.table.at(u))
}
