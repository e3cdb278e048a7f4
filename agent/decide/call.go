package decide

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/clientlib"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	unclaimed = 10 * time.Second // an attempt that nobody picks up
	grace     = 5 * time.Second  // for a Settle, after the attempt's limits
	longest   = 24 * time.Hour   // a call
)

// call is one that is under way. Its goroutine makes the attempts.
type call struct {
	name, identity string
	core           *core
	cancel         context.CancelFunc
	stream         bool
	next           chan *attempt // holds the one that waits to be picked up
	told           chan struct{} // that there is one, to who settled the one before
	done           chan struct{} // closed when no attempt follows
	err            error         // why, once done
}

// attempt is one that a program makes.
type attempt struct {
	name, identity string
	call           *call
	of             clientlib.Attempt
	claimed        chan struct{}
	settled        chan settlement // holds the one there is
}

type settlement struct {
	outcome clientlib.Outcome
	content bool
}

var errForgotten = errors.New("the program did not go on with it")

// begin starts a call that was asked for.
func (s *Service) begin(identity string, c *core, q *pb.PickRequest) (*call, error) {
	timeout := longest
	if q.TimeoutUs > 0 {
		timeout = time.Duration(min(q.TimeoutUs, longest.Microseconds())) * time.Microsecond
	}
	ctx, cancel := context.WithTimeout(s.ctx, timeout)
	k := &call{name: name(), identity: identity, core: c, cancel: cancel, stream: q.Stream}
	k.next, k.told, k.done = make(chan *attempt, 1), make(chan struct{}, 1), make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped || len(s.calls) >= mostCalls {
		cancel()
		return nil, busy("%d calls are under way on this node, as many as may be", mostCalls)
	}
	s.calls[k.name] = k
	s.wg.Go(func() { s.run(ctx, k, q.Workload, request(q)) })
	return k, nil
}

// run makes the call's attempts, as the library has them.
func (s *Service) run(ctx context.Context, k *call, workload string, r clientlib.Request) {
	defer k.cancel()
	_, k.err = clientlib.Do(ctx, k.core.client.Workload(workload), r, func(ctx context.Context, a clientlib.Attempt) (struct{}, error) {
		return struct{}{}, s.try(ctx, k, a)
	})
	close(k.done)
	s.mu.Lock()
	delete(s.calls, k.name)
	s.mu.Unlock()
	s.done(k.core)
}

// try has a program make one attempt, and ends it as the program says.
func (s *Service) try(ctx context.Context, k *call, of clientlib.Attempt) error {
	a := &attempt{name: name(), identity: k.identity, call: k, of: of, claimed: make(chan struct{}), settled: make(chan settlement, 1)}
	s.mu.Lock()
	s.attempts[a.name] = a
	s.mu.Unlock()
	defer s.forget(a)
	k.next <- a // there is room: the one before it was picked up
	k.tell()
	if a.await(ctx) {
		select {
		case v := <-a.settled:
			return a.end(v)
		case <-ctx.Done():
		}
		if v, ok := a.late(s.ctx); ok {
			return a.end(v)
		}
	}
	of.Abandon()
	k.cancel()
	return errForgotten
}

// await tells whether somebody picks the attempt up in time.
func (a *attempt) await(ctx context.Context) bool {
	timer := time.NewTimer(unclaimed)
	defer timer.Stop()
	select {
	case <-a.claimed:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	select {
	case <-a.call.next: // nobody can any more
		return false
	default: // somebody just did
		return true
	}
}

// late is what a program says of an attempt whose limits are over: that they are, mostly.
func (a *attempt) late(ctx context.Context) (settlement, bool) {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case v := <-a.settled:
		return v, true
	case <-timer.C:
	case <-ctx.Done():
	}
	return settlement{}, false
}

// end settles it. What it returns is for the library to say whether another is due.
func (a *attempt) end(v settlement) error {
	if v.content {
		a.of.Content()
	}
	if v.outcome.Kind == clientlib.Abandoned {
		a.of.Abandon()
		a.call.cancel()
		return errForgotten
	}
	a.of.Settle(v.outcome)
	if v.outcome.Kind == clientlib.Served {
		return nil
	}
	return &clientlib.Fault{Outcome: v.outcome}
}

func (s *Service) forget(a *attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.attempts, a.name)
}

// pick waits for the call's next attempt.
func (k *call) pick(ctx context.Context) (*attempt, error) {
	select {
	case a := <-k.next:
		close(a.claimed)
		return a, nil
	case <-k.done:
		return nil, k.failure()
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

func (k *call) tell() {
	select {
	case k.told <- struct{}{}:
	default:
	}
}

// settle ends the attempt that is under way, and tells whether another one follows.
func (k *call) settle(ctx context.Context, a *attempt, v settlement) bool {
	select {
	case <-k.told: // of this one
	default:
	}
	a.settled <- v // there is room: it is taken once
	return k.again(ctx)
}

// again waits a little, and tells whether another attempt follows. One that is due later is
// waited for by who picks.
func (k *call) again(ctx context.Context) bool {
	timer := time.NewTimer(decidedWithin)
	defer timer.Stop()
	select {
	case <-k.told:
	case <-k.done:
		return false
	case <-timer.C:
	case <-ctx.Done():
	}
	return true
}

// decidedWithin is how long the library is given to say that a call is over. It says so at once.
const decidedWithin = 100 * time.Millisecond

func (s *Service) callOf(name, identity string) (*call, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.calls[name]; k != nil && k.identity == identity {
		return k, nil
	}
	return nil, status.Error(codes.NotFound, "no such call: it is over, or was not picked again in time")
}

// attemptOf finds an attempt of a caller's.
func (s *Service) attemptOf(name, identity string) (*attempt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(name, identity)
}

// takeAttempt finds it once.
func (s *Service) takeAttempt(name, identity string) (*attempt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, err := s.find(name, identity)
	if err == nil {
		delete(s.attempts, name)
	}
	return a, err
}

// find is called with the lock held.
func (s *Service) find(name, identity string) (*attempt, error) {
	if a := s.attempts[name]; a != nil && a.identity == identity {
		return a, nil
	}
	return nil, status.Error(codes.NotFound, "no such attempt: it is settled, or its limits are over")
}
