package main

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// kept is the hub's codec. While it is on, it keeps what it encodes, to be encoded again when
// nobody else wants the processors.
type kept struct {
	encoding.CodecV2
	on atomic.Bool

	mu       sync.Mutex
	messages []any
}

func (c *kept) Marshal(v any) (mem.BufferSlice, error) {
	if c.on.Load() {
		c.mu.Lock()
		c.messages = append(c.messages, v)
		c.mu.Unlock()
	}
	return c.CodecV2.Marshal(v)
}

// batch is how many messages are timed together: a single one is too short for a watch.
const batch = 50

// gain is how many times longer it takes to make all the whole catalogs that were sent by
// protobuf alone. What is encoded once is taken to cost as much as one of these.
func (c *kept) gain() (gain, shared, plain float64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var whole []any
	for _, v := range c.messages {
		if n, err := size(encoding.GetCodecV2(proto.Name), v); err != nil || n > bodySize*endpoints {
			whole = append(whole, v)
		}
	}
	var ours, theirs []float64
	for ; len(whole) >= batch; whole = whole[batch:] {
		a, err := clocked(c.CodecV2, whole[:batch])
		b, err2 := clocked(encoding.GetCodecV2(proto.Name), whole[:batch])
		if err := errors.Join(err, err2); err != nil {
			return 0, 0, 0, err
		}
		ours, theirs = append(ours, a), append(theirs, b)
	}
	if len(ours) == 0 {
		return 0, 0, 0, errors.New("bug: no whole catalogs were sent")
	}
	shared, plain = median(ours), median(theirs)
	return plain / (shared + plain/float64(len(ours)*batch)), shared, plain, nil
}

func size(c encoding.CodecV2, v any) (int, error) {
	b, err := c.Marshal(v)
	n := b.Len()
	b.Free()
	return n, err
}

// clocked is how long one of the messages takes, ns.
func clocked(c encoding.CodecV2, messages []any) (float64, error) {
	began := time.Now()
	for _, v := range messages {
		b, err := c.Marshal(v)
		if err != nil {
			return 0, err
		}
		b.Free()
	}
	return float64(time.Since(began).Nanoseconds()) / float64(len(messages)), nil
}
