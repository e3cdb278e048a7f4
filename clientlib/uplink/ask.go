package uplink

import (
	"sync"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// ask passes a question on. The answer goes up the stream that the question came down: on
// another one its number would be somebody else's.
func (l *Link) ask(out *outbox, q *pb.Question) {
	if !l.cfg.Hello.Relay && q.GetLeaf() != l.cfg.Hello.Leaf {
		out.put(answered(q, &pb.Answer{Error: "this is another leaf: it is " + l.cfg.Hello.Leaf}))
		return
	}
	var once sync.Once
	l.handler.Ask(q, func(a *pb.Answer) {
		once.Do(func() { out.put(answered(q, a)) })
	})
}

func answered(q *pb.Question, a *pb.Answer) *pb.SyncRequest {
	return &pb.SyncRequest{Message: &pb.SyncRequest_Answer{Answer: &pb.Answer{Number: q.GetNumber(), Explain: a.GetExplain(), Error: a.GetError()}}}
}
