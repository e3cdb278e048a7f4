package clientlib

import "github.com/pointsman/pointsman/clientlib/route"

// Adopt makes a catalog the one that decides, as one from a parent would be.
func (c *Client) Adopt(catalog *route.Catalog) error { return c.news.adopt(fromParent, catalog, nil) }

// Queued is how many calls the queue counts, and what it keeps for them.
func (c *Client) Queued() (calls int64, kept int) {
	q := c.waiting
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.size.Load(), len(q.queue.lanes) + len(q.queue.kinds) + len(q.queue.flows) + len(q.queue.clocks)
}
