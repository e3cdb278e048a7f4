package clientlib

import (
	"context"
	"net"

	"github.com/pointsman/pointsman/clientlib/route"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Recorded is what the agent is told of an attempt.
func Recorded(a AttemptInfo) *pb.Record { return (&entry{attempt: a}).encode() }

// RecordedEvent is what the agent is told of an event.
func RecordedEvent(e Event) *pb.Record { return (&entry{event: &e}).encode() }

// Adopt makes a catalog the one that decides, as one from a parent would be.
func (c *Client) Adopt(catalog *route.Catalog) error { return c.news.adopt(fromParent, catalog, nil) }

// Queued is how many calls the queue counts, and what it keeps for them.
func (c *Client) Queued() (calls int64, kept int) {
	q := c.waiting
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.size.Load(), len(q.queue.lanes) + len(q.queue.kinds) + len(q.queue.flows) + len(q.queue.clocks)
}

// Narrow has the client's own connections be so many to an address, and dialled so; nil: as
// they are. Call it before the first request.
func (c *Client) Narrow(most int, dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	c.http.own.Load().MaxConnsPerHost = most
	if dial != nil {
		c.http.dial = dial
	}
}

// Renew has new requests go by new connections, without the client's loop.
func (c *Client) Renew() { c.http.own.Swap(c.http.set()).CloseIdleConnections() }
