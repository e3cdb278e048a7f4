package fake

import (
	"context"
	"errors"
	"net"
	"sync"
)

// Memory is a listener without a network, so that an endpoint can live in virtual time. Config.Listener takes it.
type Memory struct {
	dialled chan net.Conn
	closed  chan struct{}
	closing sync.Once
}

// NewMemory listens until it is closed.
func NewMemory() *Memory {
	return &Memory{dialled: make(chan net.Conn), closed: make(chan struct{})}
}

var errClosed = errors.New("the listener is closed")

// Dial connects to it.
func (m *Memory) Dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case m.dialled <- server:
		return client, nil
	case <-m.closed:
		return nil, errClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept waits for a connection.
func (m *Memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.dialled:
		return c, nil
	case <-m.closed:
		return nil, errClosed
	}
}

// Close ends the listener, not its connections.
func (m *Memory) Close() error {
	m.closing.Do(func() { close(m.closed) })
	return nil
}

// Addr is the one of all of them.
func (m *Memory) Addr() net.Addr { return memoryAddr{} }

type memoryAddr struct{}

func (memoryAddr) Network() string { return "memory" }
func (memoryAddr) String() string  { return "memory" }

var _ net.Listener = (*Memory)(nil)
