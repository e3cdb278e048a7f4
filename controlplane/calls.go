package controlplane

import (
	"errors"
	"sync"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"

	"github.com/pointsman/pointsman/controlplane/store"
)

// calls is a connection to the services of whoever leads, for what only a leader can answer.
type calls struct {
	other func() *store.Leader // nil: this replica leads, or nobody
	dial  func(address string) (*grpc.ClientConn, error)
	log   hclog.Logger

	mu      sync.Mutex
	address string
	conn    *grpc.ClientConn
	closed  bool
}

// leader is a connection to the replica that leads, if it is another.
func (c *calls) leader() (grpc.ClientConnInterface, bool) {
	to := c.other()
	if to == nil {
		return nil, false
	}
	conn, old, err := c.open(to.Address)
	if old != nil {
		err = errors.Join(err, old.Close())
	}
	if err != nil {
		c.log.Warn("the leader cannot be called", "address", to.Address, "error", err)
	}
	return conn, conn != nil
}

// open gives the connection to an address, and what it takes the place of.
func (c *calls) open(address string) (conn, old *grpc.ClientConn, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, nil, nil
	case c.conn != nil && c.address == address:
		return c.conn, nil, nil
	}
	conn, err = c.dial(address) // it connects with the first call
	if err != nil {
		return nil, nil, err
	}
	old, c.conn, c.address = c.conn, conn, address
	return conn, old, nil
}

// close ends the connection; there is none any more.
func (c *calls) close() error {
	c.mu.Lock()
	conn := c.conn
	c.conn, c.closed = nil, true
	c.mu.Unlock()
	if conn == nil {
		return nil
	}
	return conn.Close()
}
