package hub

import (
	"errors"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// read takes what a child sends until the stream ends, and ends it.
func (h *Hub) read(c *child) {
	for {
		req, err := c.stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			c.end(nil, true)
			return
		case err != nil:
			c.end(err, c.local)
			return
		}
		if err := h.receive(c, req); err != nil {
			c.end(err, false)
			return
		}
	}
}

func (h *Hub) receive(c *child, req *pb.SyncRequest) error {
	if hello := req.GetHello(); hello != nil {
		return h.hello(c, req.Sequence, hello)
	}
	if report := req.GetReport(); report != nil {
		h.screen(c, report)
	}
	if err := h.obey(c, req); err != nil {
		return err
	}
	if records := req.GetRecords(); records != nil && h.config.Records != nil {
		h.config.Records(c.name, records)
	}
	return nil
}

// obey does what a child says of itself; its error ends the stream.
func (h *Hub) obey(c *child, req *pb.SyncRequest) error {
	h.mu.Lock()
	defer h.unlock()
	if err := c.hear(req.Sequence, h.now()); err != nil {
		return err
	}
	switch m := req.Message.(type) {
	case *pb.SyncRequest_Subscribe:
		return h.choose(c, m.Subscribe)
	case *pb.SyncRequest_Ack:
		if err := checkHeld(m.Ack.GetHeld()); err != nil {
			return status.Error(codes.InvalidArgument, err.Error())
		}
		h.ack(c, m.Ack)
	case *pb.SyncRequest_Nack:
		if err := named(m.Nack.GetVersion().GetStoreId()); err != nil {
			return status.Error(codes.InvalidArgument, err.Error())
		}
		h.nack(c, m.Nack)
	case *pb.SyncRequest_Answer:
		h.answered(c, m.Answer)
	case *pb.SyncRequest_Report:
		h.report(c, m.Report, c.dates.Of(h.now(), req.Seen, req.HeldUs))
	}
	return nil // what a later version says is no error
}

// hear counts a message; the first is hello.
func (c *child) hear(sequence uint64, now int64) error {
	switch {
	case c.left:
		return status.Error(codes.Aborted, "the stream has ended")
	case c.seen == 0:
		return status.Error(codes.InvalidArgument, "the first message is not hello")
	case sequence != c.seen+1:
		return status.Errorf(codes.InvalidArgument, "sequence %d follows %d", sequence, c.seen)
	}
	c.seen, c.seenAt = sequence, now
	return nil
}
