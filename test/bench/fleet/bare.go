package main

import (
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	protobuf "google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// bare is the yardstick: a gRPC server that sends the same bytes to all its streams, reads
// what they answer, and does nothing else.
type bare struct {
	pb.UnimplementedSyncServiceServer
	server  *grpc.Server
	address string
	done    sync.WaitGroup

	mu      sync.Mutex
	streams map[chan encoded]bool
	first   []encoded
}

// encoded is a message that needs no more encoding.
type encoded []byte

// rawCodec sends what is encoded as it is.
type rawCodec struct{ encoding.CodecV2 }

func (c rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	if b, ok := v.(encoded); ok {
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	return c.CodecV2.Marshal(v)
}

func serveBare(c *contents, options ...grpc.ServerOption) (*bare, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &bare{address: l.Addr().String(), streams: map[chan encoded]bool{}}
	for _, s := range []*wire.State{c.catalog, c.fleet} {
		b.first = append(b.first, encode(wire.Whole(1, 1, s)))
	}
	b.server = grpc.NewServer(append([]grpc.ServerOption{grpc.ForceServerCodecV2(rawCodec{encoding.GetCodecV2(proto.Name)})}, options...)...)
	pb.RegisterSyncServiceServer(b.server, b)
	b.done.Go(func() { _ = b.server.Serve(l) })
	return b, nil
}

func encode(u *pb.Update) encoded {
	m, err := protobuf.Marshal(&pb.SyncResponse{Sequence: 1000, Seen: 1000, HeldUs: 1e6, Message: &pb.SyncResponse_Update{Update: u}})
	if err != nil {
		return nil // which no client takes for an update
	}
	return m
}

// Sync sends what is broadcast.
func (b *bare) Sync(s pb.SyncService_SyncServer) error {
	out := make(chan encoded, 4)
	b.mu.Lock()
	b.streams[out] = true
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		delete(b.streams, out)
		b.mu.Unlock()
	}()
	b.done.Go(func() {
		for {
			if _, err := s.Recv(); err != nil {
				return
			}
		}
	})
	for _, m := range b.first {
		if err := s.SendMsg(m); err != nil {
			return err
		}
	}
	for {
		select {
		case m := <-out:
			if err := s.SendMsg(m); err != nil {
				return err
			}
		case <-s.Context().Done():
			return s.Context().Err()
		}
	}
}

// broadcast sends to all.
func (b *bare) broadcast(m encoded) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for out := range b.streams {
		select {
		case out <- m:
		default: // it is not where it should be: the round will tell
		}
	}
}

func (b *bare) stop() {
	b.server.Stop()
	b.done.Wait()
}
