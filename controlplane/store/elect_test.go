package store

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// campaigner runs Lead and tells of each tenure.
type campaigner struct {
	tenures chan *Tenure
	ended   chan *Tenure // its context ended, and lead returns
	stop    func()       // graceful
}

func campaign(t *testing.T, s *Store, name string) *campaigner {
	t.Helper()
	c := &campaigner{tenures: make(chan *Tenure, 1000), ended: make(chan *Tenure, 1000)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- s.Lead(ctx, Candidate{Replica: name, Address: name + ":1"}, func(ctx context.Context, tenure *Tenure) {
			c.tenures <- tenure
			<-ctx.Done()
			c.ended <- tenure
		})
	}()
	stopped := false
	c.stop = func() {
		if cancel(); stopped {
			return
		}
		stopped = true
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	t.Cleanup(c.stop)
	return c
}

func take[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatalf("%s did not come", what)
	}
	panic("not reached")
}

// leads makes s lead until the test ends.
func leads(t *testing.T, s *Store, name string) *Tenure {
	t.Helper()
	return take(t, campaign(t, s, name).tenures, "a tenure")
}

// quick is for tests that wait for a lease to end.
var quick = pace{ttl: time.Second, stop: 600 * time.Millisecond, renew: 100 * time.Millisecond, answer: 500 * time.Millisecond, rest: 10 * time.Millisecond}

// lasting is for tests in which only what they do may end a lease.
var lasting = pace{ttl: time.Hour, stop: 50 * time.Minute, renew: 20 * time.Millisecond, answer: 10 * time.Second, rest: 10 * time.Millisecond}

// pair is two replicas of one etcd.
func pair(t *testing.T, p pace) (a, b *Store) {
	t.Helper()
	e := startExternal(t)
	a, b = e.dial(t), e.dial(t)
	a.pace, b.pace = p, p
	return a, b
}

func TestOneReplicaLeadsAndAnotherTakesOverWhenItStops(t *testing.T) {
	a, b := pair(t, lasting)
	first := campaign(t, a, "a")
	one := take(t, first.tenures, "a tenure")
	second := campaign(t, b, "b")
	if !one.Holds() || len(second.tenures) != 0 {
		t.Fatal("two lead, or none")
	}
	first.stop()
	two := take(t, second.tenures, "a tenure") // long before the lease's hour
	if one.Holds() || two.Term() <= one.Term() {
		t.Fatalf("term %d after %d; the first holds: %v", two.Term(), one.Term(), one.Holds())
	}
}

func TestALeaderThatIsNotAnsweredStopsItselfBeforeItsLeaseEnds(t *testing.T) {
	t.Parallel()
	a, b := pair(t, quick)
	var mute atomic.Bool
	renew := a.renew
	a.renew = func(ctx context.Context, id clientv3.LeaseID) (int64, error) {
		if mute.Load() {
			<-ctx.Done()
			return 0, ctx.Err()
		}
		return renew(ctx, id)
	}
	first := campaign(t, a, "a")
	take(t, first.tenures, "a tenure")
	mute.Store(true)
	old := take(t, first.ended, "the end of a tenure")
	if old.Holds() {
		t.Fatal("it holds")
	}
	take(t, campaign(t, b, "b").tenures, "a tenure")
}

// fleeting loses the leases that candidates stand with, once.
type fleeting struct {
	clientv3.Lease
	left atomic.Int32
}

func (f *fleeting) Grant(ctx context.Context, ttl int64) (*clientv3.LeaseGrantResponse, error) {
	got, err := f.Lease.Grant(ctx, ttl)
	if err == nil && f.left.Add(-1) >= 0 {
		_, err = f.Revoke(ctx, got.ID)
	}
	return got, err
}

// Scenario 54: a contender whose lease died waited for ever.
func TestACandidateWhoseLeaseDiedStandsAgain(t *testing.T) {
	a, b := pair(t, lasting)
	leases := &fleeting{Lease: b.client.Lease}
	leases.left.Store(2)
	b.client.Lease = leases
	first := campaign(t, a, "a")
	take(t, first.tenures, "a tenure")
	second := campaign(t, b, "b")
	first.stop()
	take(t, second.tenures, "a tenure of who lost two leases")
}

func TestACandidateLeavesNoLeaseBehindWhileItWaits(t *testing.T) {
	a, b := pair(t, lasting)
	leads(t, a, "a")
	looks := &counting{KV: b.client.KV, done: make(chan struct{}, 1000)}
	b.client.KV = looks
	campaign(t, b, "b")
	for range 5 {
		take(t, looks.done, "a look")
	}
	got, err := a.client.Leases(t.Context())
	if err != nil || len(got.Leases) != 1 {
		t.Fatal(got, err)
	}
}

// counting tells of each request.
type counting struct {
	clientv3.KV
	done chan struct{}
}

func (c *counting) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	got, err := c.KV.Do(ctx, op)
	select {
	case c.done <- struct{}{}:
	default:
	}
	return got, err
}

// Scenario 25: each cycle of leadership left a goroutine behind.
func TestFiveHundredTenuresLeaveNothingBehind(t *testing.T) {
	e := startExternal(t)
	s := e.dial(t)
	s.pace.rest = time.Microsecond
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tenures, before := 0, 0
	err := s.Lead(ctx, Candidate{Replica: "a", Address: "a:1"}, func(context.Context, *Tenure) {
		switch tenures++; tenures {
		case 20: // what is made once is there
			before = runtime.NumGoroutine()
		case 520:
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || tenures != 520 {
		t.Fatalf("%d tenures: %v", tenures, err)
	}
	for end := time.Now().Add(patience); runtime.NumGoroutine() > before+10; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, and %d 500 tenures ago", runtime.NumGoroutine(), before)
		}
	}
	got, err := s.client.Leases(t.Context())
	if err != nil || len(got.Leases) != 0 {
		t.Fatal(got, err)
	}
}

func TestWhoLeadsIsToldAtOnceAndAtEachChange(t *testing.T) {
	a, b := pair(t, lasting)
	told := make(chan *Leader, 100)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Leader(ctx, func(l *Leader) { told <- l }) }()
	defer func() {
		cancel()
		<-done
	}()
	if l := take(t, told, "who leads"); l != nil {
		t.Fatal(l)
	}
	first := campaign(t, a, "a")
	term := take(t, first.tenures, "a tenure").Term()
	l := take(t, told, "who leads")
	if l == nil || l.Replica != "a" || l.Address != "a:1" || l.Term != term || time.Since(l.Since) > patience {
		t.Fatal(l)
	}
	first.stop()
	if l := take(t, told, "who leads"); l != nil {
		t.Fatal(l)
	}
}

func TestNamespacesHaveALeaderEach(t *testing.T) {
	e := startExternal(t)
	a, b := e.dial(t), e.dial(t)
	b.config.Namespace = "default-b"
	leads(t, a, "a")
	leads(t, b, "b")
}
