package hub

import (
	"sync"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	protobuf "google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// message is what is sent to a child. Our codec takes what an update has in common with
// others from its delta; a server without it encodes all of it from the message.
type message struct {
	*pb.SyncResponse
	delta *delta // nil: nothing is in common
}

// shared is what the updates of one delta have in common, encoded. Bodies are those of the
// state, as they came: no view has bytes that are not in its own state.
type shared struct {
	once  sync.Once
	parts mem.BufferSlice
	size  int
	err   error
}

// small is up to how many bytes a body is copied beside others: a part of its own costs as much.
const small = 512

// encode encodes a delta, once for all who need it.
func (d *delta) encode() *shared {
	d.shared.once.Do(func() { d.shared.make(d) })
	return &d.shared
}

// make lays the resources one after the other, in the order that they have.
func (s *shared) make(d *delta) {
	head, err := protobuf.Marshal(&pb.Update{
		Track: d.state.Track(), Since: d.since, Version: d.state.Version(), Removed: d.removed, Digest: d.state.Digest(),
	})
	if err != nil {
		s.err = err
		return
	}
	s.add(head)
	slab := make([]byte, 0, framing(d.upserts))
	from := 0
	for _, r := range d.upserts {
		slab = frame(slab, r)
		if len(r.Body) <= small {
			slab = append(slab, r.Body...)
			continue
		}
		s.add(slab[from:len(slab):len(slab)])
		s.add(r.Body)
		from = len(slab)
	}
	s.add(slab[from:])
}

func (s *shared) add(b []byte) {
	if len(b) > 0 {
		s.parts = append(s.parts, mem.SliceBuffer(b))
		s.size += len(b)
	}
}

// Numbers of fields: sync.proto and catalog.proto. Their tags take one byte each.
const (
	fieldUpdate  = 3 // of SyncResponse
	fieldUpserts = 5 // of Update
	fieldKind    = 1 // of Resource
	fieldName    = 2
	fieldBody    = 3
)

// frame appends all of a resource but its body's bytes, which come last.
func frame(b []byte, r *pb.Resource) []byte {
	b = protowire.AppendTag(b, fieldUpserts, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(resourceSize(r)))
	b = protowire.AppendTag(b, fieldKind, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(r.Kind))
	b = protowire.AppendTag(b, fieldName, protowire.BytesType)
	b = protowire.AppendString(b, r.Name)
	b = protowire.AppendTag(b, fieldBody, protowire.BytesType)
	return protowire.AppendVarint(b, uint64(len(r.Body)))
}

func resourceSize(r *pb.Resource) int {
	return 3 + protowire.SizeVarint(uint64(r.Kind)) + protowire.SizeBytes(len(r.Name)) + protowire.SizeBytes(len(r.Body))
}

// framing is what the frames take, with the bodies that are copied.
func framing(all []*pb.Resource) (size int) {
	for _, r := range all {
		n := resourceSize(r)
		size += 1 + protowire.SizeVarint(uint64(n)) + n
		if len(r.Body) > small {
			size -= len(r.Body)
		}
	}
	return size
}

// buffers is the message: what is this child's own, around what is shared.
func (m *message) buffers() (mem.BufferSlice, error) {
	shared := m.delta.encode()
	if shared.err != nil {
		return nil, shared.err
	}
	u := m.GetUpdate()
	tail, err := protobuf.Marshal(&pb.Update{View: u.View, Empty: u.Empty, Ages: u.Ages, HeadGeneration: u.HeadGeneration})
	if err != nil {
		return nil, err
	}
	head, err := protobuf.Marshal(&pb.SyncResponse{Sequence: m.Sequence, Seen: m.Seen, HeldUs: m.HeldUs})
	if err != nil {
		return nil, err
	}
	head = protowire.AppendTag(head, fieldUpdate, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(shared.size+len(tail)))
	out := make(mem.BufferSlice, 0, len(shared.parts)+2)
	out = append(out, mem.SliceBuffer(head))
	out = append(out, shared.parts...)
	return append(out, mem.SliceBuffer(tail)), nil
}

// codec encodes messages from what they share. All else is protobuf as ever.
type codec struct{}

// Name is protobuf's: what travels is no different.
func (codec) Name() string { return proto.Name }

func (codec) Marshal(v any) (mem.BufferSlice, error) {
	if m, ok := v.(*message); ok && m.delta != nil {
		return m.buffers()
	}
	return encoding.GetCodecV2(proto.Name).Marshal(v)
}

func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	return encoding.GetCodecV2(proto.Name).Unmarshal(data, v)
}
