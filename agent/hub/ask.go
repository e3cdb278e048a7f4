package hub

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Bounds of questions that wait for their answers.
const (
	maxQuestions = 256 // of all children
	maxAsked     = 16  // of one
	maxWait      = 10 * time.Second
)

// question waits for its answer.
type question struct {
	child  *child
	number uint64 // of the child's stream
	until  int64
	answer func(*pb.Answer)
}

// reply is an answer that is to be given without the lock.
type reply struct {
	to     func(*pb.Answer)
	answer *pb.Answer
}

// Ask asks a leaf, here or behind relays, and waits for its answer. A leaf that cannot
// answer gives an answer with its error; a status error says that there is no way to it.
func (h *Hub) Ask(ctx context.Context, leaf string, q *pb.Question) (*pb.Answer, error) {
	q = proto.CloneOf(q)
	q.Leaf = leaf
	if end, ok := ctx.Deadline(); ok && q.TimeoutUs == 0 {
		q.TimeoutUs = max(1, us(time.Until(end)))
	}
	answers := make(chan *pb.Answer, 1)
	if err := h.pose(q, func(a *pb.Answer) { answers <- a }); err != nil {
		return nil, err
	}
	select {
	case a := <-answers:
		return a, nil
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

// pose passes a question to the child that speaks for its leaf. It does not wait: answer is
// called once, from any goroutine, unless there is an error. It must not block.
func (h *Hub) pose(q *pb.Question, answer func(*pb.Answer)) error {
	h.mu.Lock()
	defer h.unlock()
	l := h.roster.leaves[q.GetLeaf()]
	switch {
	case l == nil || l.via == nil:
		return status.Errorf(codes.NotFound, "no way to a leaf %.64q is known here", q.GetLeaf())
	case h.closing || len(h.asked) >= maxQuestions || l.via.asking >= maxAsked:
		return status.Errorf(codes.ResourceExhausted, "%d questions wait for answers already", len(h.asked))
	}
	c, now := l.via, h.now()
	wait := time.Duration(min(q.GetTimeoutUs(), us(maxWait))) * time.Microsecond
	if wait <= 0 {
		wait = maxWait
	}
	c.asking++
	c.lastQuestion++
	sent := proto.CloneOf(q)
	sent.Number, sent.TimeoutUs = c.lastQuestion, us(wait)
	asked := &question{child: c, number: sent.Number, until: now + us(wait), answer: answer}
	h.asked[askedOf{c, sent.Number}] = asked
	c.questions = append(c.questions, waitingQuestion{sent, now})
	c.poke()
	h.poke()
	return nil
}

// Pass passes a question on, as pose does: an error is the answer.
func (h *Hub) Pass(q *pb.Question, answer func(*pb.Answer)) {
	if err := h.pose(q, answer); err != nil {
		answer(&pb.Answer{Error: status.Convert(err).Message()})
	}
}

// askedOf names a question: its number is of its child's stream.
type askedOf struct {
	child  *child
	number uint64
}

// waitingQuestion is a question as it was at a time.
type waitingQuestion struct {
	question *pb.Question
	at       int64
}

// left is the question with what is left of its time; nil: none is.
func (w waitingQuestion) left(now int64) *pb.Question {
	q := proto.CloneOf(w.question)
	if q.TimeoutUs -= max(0, now-w.at); q.TimeoutUs <= 0 {
		return nil
	}
	return q
}

// answered takes a child's answer. One that nobody waits for says nothing.
func (h *Hub) answered(c *child, a *pb.Answer) {
	if q := h.asked[askedOf{c, a.GetNumber()}]; q != nil {
		a.Error = cut(a.Error)
		h.reply(q, a)
	}
}

// reply gives an answer when the lock is given back.
func (h *Hub) reply(q *question, a *pb.Answer) {
	delete(h.asked, askedOf{q.child, q.number})
	q.child.asking--
	h.replies = append(h.replies, reply{q.answer, a})
}

// unanswered answers the questions of a child that ended.
func (h *Hub) unanswered(c *child) {
	if c.asking == 0 {
		return
	}
	for _, q := range h.asked {
		if q.child == c {
			h.reply(q, &pb.Answer{Number: q.number, Error: fmt.Sprintf("the stream to %q ended", c.name)})
		}
	}
}

// expire answers the questions that waited too long, and says when the next will have.
func (h *Hub) expire(now int64) (next int64) {
	h.mu.Lock()
	defer h.unlock()
	next = never
	for _, q := range h.asked {
		if q.until > now {
			next = min(next, q.until)
			continue
		}
		h.reply(q, &pb.Answer{Number: q.number, Error: fmt.Sprintf("%q did not answer in time", q.child.name)})
	}
	return next
}
