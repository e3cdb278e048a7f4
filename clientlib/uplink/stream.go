package uplink

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// stream is one stream to one parent. Its goroutines carry messages and know nothing of
// their meaning; the loop takes from in and puts into out.
type stream struct {
	parent string
	out    *outbox
	dates  *wire.Dates
	latest receipt
	now    func() int64

	in  chan *pb.SyncResponse
	end chan error // holds one: why it ended

	answered bool  // the loop's: a message has come
	since    int64 // when the first did
}

func newStream(parent string, now func() int64) *stream {
	return &stream{parent: parent, now: now, out: newOutbox(), dates: wire.NewDates(now()), in: make(chan *pb.SyncResponse), end: make(chan error, 1)}
}

// run opens the stream and carries until ctx ends or the parent ends it.
func (s *stream) run(ctx context.Context, dial func() (*grpc.ClientConn, error)) {
	cc, err := dial()
	if err != nil {
		s.end <- err
		return
	}
	defer cc.Close()
	st, err := pb.NewSyncServiceClient(cc).Sync(ctx)
	if err != nil {
		s.end <- err
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.send(st) })
	s.end <- s.receive(st)
	wg.Wait()
}

// farewell is how long an end waits for the parent to have taken what was sent last.
const farewell = time.Second

// finish sends what waits and says that it is the end. Only an answer to that tells that
// nothing was lost.
func (s *stream) finish() {
	s.out.finish()
	timer := time.NewTimer(farewell)
	defer timer.Stop()
	for {
		select {
		case <-s.in: // too late to be obeyed
		case <-s.end:
			return
		case <-timer.C:
			return
		}
	}
}

// send sends what is put into out, dated before it leaves. A failure shows at the receiver.
func (s *stream) send(st pb.SyncService_SyncClient) {
	for {
		for m := s.next(); m != nil; m = s.next() {
			if st.Send(m) != nil {
				return
			}
		}
		if s.out.finished() {
			_ = st.CloseSend() // likewise
			return
		}
		select {
		case <-s.out.kick:
		case <-st.Context().Done():
			return
		}
	}
}

// next is the next message to send. The ages in it are read after what it is dated by:
// this process may be stopped in between (rule 9).
func (s *stream) next() *pb.SyncRequest {
	seen, held := s.latest.answer(s.now())
	m := s.out.take(s.now())
	if m != nil {
		m.Seen, m.HeldUs = seen, held
		m.Sequence = s.dates.Sent(s.now())
	}
	return m
}

// receipt is what came down last, by which the parent dates what goes up.
type receipt struct {
	mu       sync.Mutex
	sequence uint64
	at       int64
}

func (r *receipt) note(now int64, sequence uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sequence, r.at = sequence, now
}

func (r *receipt) answer(now int64) (seen uint64, held int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sequence, max(0, now-r.at)
}

func (s *stream) receive(st pb.SyncService_SyncClient) error {
	for {
		m, err := st.Recv()
		if errors.Is(err, io.EOF) {
			return errors.New("the parent ended the stream")
		}
		if err != nil {
			return err
		}
		s.latest.note(s.now(), m.GetSequence())
		select {
		case s.in <- m:
		case <-st.Context().Done():
			return st.Context().Err()
		}
	}
}
