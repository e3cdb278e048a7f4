package uplink

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	silence = 30 * time.Second // protocol.md, rule 10: three missed heartbeats
	look    = time.Second      // how often the clocks are compared
)

var (
	errSilent = errors.New("no heartbeat for 30 s")
	errSlept  = errors.New("the machine was suspended")
	errStuck  = errors.New("the parent does not read")
)

// loop keeps one stream after another until ctx ends.
func (l *Link) loop(ctx context.Context) {
	l.clocks = wire.Clocks{Wall: l.wall(), Mono: l.cfg.Now()}
	for ctx.Err() == nil {
		parent := l.cfg.Parents[l.next%len(l.cfg.Parents)]
		lived, err := l.session(ctx, parent)
		l.next = elsewhere(l.next+1, len(l.cfg.Parents), err, l.random())
		l.lost(parent, err)
		pause := time.NewTimer(l.retry.after(lived, err, l.random()))
		_ = l.turn(ctx, nil, pause) // without a stream only the pause or ctx ends it
		pause.Stop()
	}
}

// session is one stream from its hello to its end: how long it answered, and why it ended.
// The stream outlives ctx by what it takes to send what waits.
func (l *Link) session(ctx context.Context, parent string) (time.Duration, error) {
	carrying, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := newStream(parent, l.cfg.Now)
	l.obey(nil)
	l.greet(s.out)
	s.out.records = &l.records
	l.out.Store(s.out)
	var wg sync.WaitGroup
	wg.Go(func() { s.run(carrying, func() (*grpc.ClientConn, error) { return dial(parent, l.by, l.cfg.Dial) }) })
	patience := time.NewTimer(silence)
	err := l.turn(ctx, s, patience)
	patience.Stop()
	l.out.Store(nil)
	if errors.Is(err, ctx.Err()) && s.answered {
		s.finish()
	}
	cancel()
	wg.Wait()
	if !s.answered {
		return 0, err
	}
	return time.Duration(l.cfg.Now()-s.since) * time.Microsecond, err
}

// turn does what comes up, with a stream or without (nil), until the timer fires, the
// stream or ctx ends.
func (l *Link) turn(ctx context.Context, s *stream, timer *time.Timer) error {
	tick := time.NewTicker(look)
	defer tick.Stop()
	var in chan *pb.SyncResponse
	var end chan error
	if s != nil {
		in, end = s.in, s.end
	}
	for {
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return errSilent
		case err = <-end:
		case m := <-in:
			err = l.receive(s, m, timer)
		case <-l.box.kick:
			l.obey(s)
		case r := <-l.saver.results:
			l.observe(r)
		case <-tick.C:
			if l.slept() && s != nil {
				err = errSlept
			}
		}
		if s != nil && err == nil && s.out.overflowed() {
			err = errStuck
		}
		if err != nil {
			return err
		}
	}
}

// receive dates a message and does what it says.
func (l *Link) receive(s *stream, m *pb.SyncResponse, timer *time.Timer) error {
	if l.slept() {
		return errSlept
	}
	if !s.answered {
		s.answered, s.since = true, l.cfg.Now()
		l.connected(s.parent)
	}
	dated := s.dates.Of(l.cfg.Now(), m.GetSeen(), m.GetHeldUs())
	switch what := m.GetMessage().(type) {
	case *pb.SyncResponse_Update:
		return l.update(s.out, dated, what.Update)
	case *pb.SyncResponse_Grant:
		l.grant(dated, what.Grant)
	case *pb.SyncResponse_Question:
		l.ask(s.out, what.Question)
	case *pb.SyncResponse_Heartbeat:
		timer.Reset(silence)
		l.heard(dated, what.Heartbeat.GetHeads())
		s.out.wanted.Store(what.Heartbeat.GetKeepsRecords())
		s.out.put(ack(l.held(), l.unusable()))
	case *pb.SyncResponse_Goodbye:
		after := time.Duration(min(what.Goodbye.GetAfterUs(), lastDelay.Microseconds())) * time.Microsecond
		return &goodbye{what.Goodbye.GetReason(), after}
	}
	return nil // what is not known is for newer libraries
}

// greet sends the hello, with all that is held, and a subscribe for every other view.
func (l *Link) greet(out *outbox) {
	hello := proto.CloneOf(l.cfg.Hello)
	hello.Subscribe, hello.Held = nil, l.held()
	numbers := l.numbers()
	if len(numbers) > 0 {
		hello.Subscribe = l.views[numbers[0]].want.subscribe(numbers[0])
	}
	out.put(&pb.SyncRequest{Message: &pb.SyncRequest_Hello{Hello: hello}})
	for i, number := range numbers {
		l.views[number].forget()
		if i > 0 {
			out.put(subscribe(l.views[number].want.subscribe(number)))
		}
	}
}

// obey makes the views what is wanted, and tells the parent.
func (l *Link) obey(s *stream) {
	wants, saved := l.box.open()
	news := saved && !l.loaded
	l.loaded = saved
	tell := func(m *pb.Subscribe) {
		if s != nil {
			s.out.put(subscribe(m))
		}
	}
	for _, number := range l.numbers() {
		if _, wanted := wants[number]; !wanted {
			delete(l.views, number)
			tell(&pb.Subscribe{View: number, Drop: true})
		}
	}
	for _, number := range slices.Sorted(maps.Keys(wants)) {
		w, v := wants[number], l.views[number]
		if v == nil || !v.want.equal(w) {
			l.views[number] = v.changed(w)
			tell(w.subscribe(number))
		}
		l.offer(number)
	}
	if news {
		l.observe(Event{Kind: Loaded})
	}
}

// numbers are those of the views, in order.
func (l *Link) numbers() []uint32 { return slices.Sorted(maps.Keys(l.views)) }

func subscribe(m *pb.Subscribe) *pb.SyncRequest {
	return &pb.SyncRequest{Message: &pb.SyncRequest_Subscribe{Subscribe: m}}
}

func ack(held []*pb.Held, unusable []*pb.Unusable) *pb.SyncRequest {
	return &pb.SyncRequest{Message: &pb.SyncRequest_Ack{Ack: &pb.Ack{Held: held, Unusable: unusable}}}
}
