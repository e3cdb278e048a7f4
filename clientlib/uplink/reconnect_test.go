package uplink

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Rule 12: reconnect after 1 s, doubling to 30 s, with full jitter; reset after 60 s of health.
func TestRule12PausesDoubleAndResetAfterHealth(t *testing.T) {
	var r retry
	pauses := func(lived time.Duration, draws ...float64) (out []time.Duration) {
		for _, draw := range draws {
			out = append(out, r.after(lived, errBad, draw))
		}
		return out
	}
	s := time.Second
	if diff := cmp.Diff([]time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 30 * s, 30 * s}, pauses(0, 1, 1, 1, 1, 1, 1, 1)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]time.Duration{0, 15 * s}, pauses(59*s, 0, 0.5)); diff != "" {
		t.Errorf("full jitter: %s", diff)
	}
	r = retry{}
	for outage := time.Duration(0); outage < 10*s; {
		pause := r.after(0, errBad, 0.1)
		if most := s + outage; pause > most {
			t.Fatalf("after %v a pause of %v", outage, pause)
		}
		outage += pause
	}
	if next := r.after(0, errBad, 1); next > 12*s {
		t.Errorf("after an outage of 10 s the next pause may be %v", next)
	}
	if diff := cmp.Diff([]time.Duration{s}, pauses(60*s, 1)); diff != "" {
		t.Errorf("after 60 s of health: %s", diff)
	}
}

// Rule 12: a parent that is full says when to come back.
func TestRule12ARefusalsDelayIsKept(t *testing.T) {
	refusal := func(d time.Duration) error {
		s, err := status.New(codes.ResourceExhausted, "full").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(d)})
		if err != nil {
			t.Fatal(err)
		}
		return s.Err()
	}
	for _, test := range []struct{ asked, want time.Duration }{
		{7 * time.Second, 7500 * time.Millisecond}, {-time.Second, 500 * time.Millisecond}, {time.Hour, 30500 * time.Millisecond},
	} {
		if got := (&retry{}).after(0, refusal(test.asked), 0.5); got != test.want {
			t.Errorf("asked to wait %v: waits %v, want %v", test.asked, got, test.want)
		}
	}
}

// Rule 12: parents are a list; each failure goes to the next.
func TestRule12ParentsAreTriedInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		r := made(t, 3)
		r.parents[0].closed.Store(true)
		r.parents[1].closed.Store(true)
		r.run(t)
		first, second, third := r.joins(t, 0), r.joins(t, 1), r.joins(t, 2)
		got := []time.Duration{first.at.Sub(begin), second.at.Sub(begin), third.at.Sub(begin)}
		if diff := cmp.Diff([]time.Duration{0, time.Second, 3 * time.Second}, got); diff != "" {
			t.Error(diff)
		}
		third.next(t)
		third.heartbeat(t)
		if s := r.link.Status(); !s.Connected || s.Parent != "127.0.0.1:3" || s.Err != nil {
			t.Errorf("status %+v", s)
		}
		if r.seen(Lost) != 1 || r.seen(Connected) != 1 {
			t.Errorf("events %v: a parent that stays away is one change of state", r.events)
		}
	})
}

// Rule 12: goodbye moves the child elsewhere within the time it names.
func TestRule12GoodbyeIsHonoured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := made(t, 2)
		r.link.random = func() float64 { return 0.5 }
		r.run(t)
		c, _ := r.joined(t)
		said := time.Now()
		bye := &pb.Goodbye{Reason: "draining", AfterUs: 8e6}
		c.say(t, &pb.SyncResponse{Message: &pb.SyncResponse_Goodbye{Goodbye: bye}})
		if got := r.joins(t, 1).at.Sub(said); got != 4*time.Second {
			t.Errorf("comes back after %v, want half of 8 s", got)
		}
	})
}

// Rule 12, and no goroutine left: Run ends with its context in every state.
func TestRunEndsWithItsContext(t *testing.T) {
	for name, prepare := range map[string]func(*testing.T, *rig){
		"while a stream lives": func(t *testing.T, r *rig) { r.joined(t) },
		"between two streams": func(t *testing.T, r *rig) {
			c, _ := r.joined(t)
			c.quit <- errBad
			time.Sleep(100 * time.Millisecond)
		},
		"at once": func(*testing.T, *rig) {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := started(t, 1)
				prepare(t, r)
				ended := time.Now()
				if err := r.stop(); err != nil || time.Since(ended) > 0 {
					t.Errorf("error %v after %v", err, time.Since(ended))
				}
			})
		})
	}
}

// A parent that does not read is left before what waits for it grows without bound.
func TestAParentThatDoesNotReadIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := made(t, 1)
		r.parents[0].deaf = true
		r.run(t)
		c := r.joins(t, 0)
		const window = 64 << 10 // bytes, at least, that gRPC takes from a sender
		for range maxControl + window {
			m := &pb.SyncResponse{Seen: 1, Message: &pb.SyncResponse_Heartbeat{Heartbeat: &pb.Heartbeat{}}}
			if c.st.Send(m) != nil {
				break
			}
		}
		time.Sleep(100 * time.Millisecond)
		if s := r.link.Status(); !errors.Is(s.Err, errStuck) {
			t.Errorf("status %+v", s)
		}
	})
}

// Plain text goes to this machine only; anything else needs credentials.
func TestConfigNamesEveryFault(t *testing.T) {
	now := func() int64 { return 1 }
	hello := &pb.Hello{Leaf: "l"}
	for name, test := range map[string]struct {
		c  Config
		ok bool
	}{
		"a unix socket":            {Config{Parents: []string{"unix:///run/agent.sock"}, Hello: hello, Now: now}, true},
		"loopback":                 {Config{Parents: []string{"127.0.0.1:1", "[::1]:1", "localhost:1"}, Hello: hello, Now: now}, true},
		"another machine":          {Config{Parents: []string{"control.example:7000"}, Hello: hello, Now: now}, false},
		"another machine's number": {Config{Parents: []string{"10.0.0.1:7000"}, Hello: hello, Now: now}, false},
		"with credentials":         {Config{Parents: []string{"control.example:7000"}, Hello: hello, Now: now, Dial: []grpc.DialOption{plain()}}, true},
		"no port":                  {Config{Parents: []string{"localhost"}, Hello: hello, Now: now}, false},
		"no path":                  {Config{Parents: []string{"unix:///"}, Hello: hello, Now: now}, false},
		"no parents":               {Config{Hello: hello, Now: now}, false},
		"no leaf":                  {Config{Parents: []string{"localhost:1"}, Now: now}, false},
		"no clock":                 {Config{Parents: []string{"localhost:1"}, Hello: hello}, false},
	} {
		if _, err := New(test.c, &recorder{}); (err == nil) != test.ok {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// Rule 12: a parent that stops is left for another; that a second one is down costs half a second.
func TestRule12AfterAGoodbyeTheOnlyOneLeftIsFoundSoon(t *testing.T) {
	for _, draw := range []float64{0, 0.3, 0.6, 0.999} {
		for down := 1; down < 3; down++ {
			synctest.Test(t, func(t *testing.T) {
				r := made(t, 3)
				r.link.random = func() float64 { return draw }
				r.run(t)
				c, _ := r.joined(t)
				r.parents[0].closed.Store(true)
				r.parents[down].closed.Store(true)
				said := time.Now()
				c.say(t, &pb.SyncResponse{Message: &pb.SyncResponse_Goodbye{Goodbye: &pb.Goodbye{Reason: "stopping", AfterUs: 5e5}}})
				if took := r.joins(t, 3-down).at.Sub(said); took > 1500*time.Millisecond {
					t.Errorf("draw %v, %d down: comes to the one that is up after %v", draw, down, took)
				}
			})
		}
	}
}

func TestRule12AGoodbyeLeadsToAnotherParent(t *testing.T) {
	bye := &goodbye{}
	for _, draw := range []float64{0, 0.5, 0.999, 1} {
		for at := range 3 {
			if next := elsewhere(at+1, 3, bye, draw) % 3; next == at {
				t.Errorf("from %d by draw %v to itself", at, draw)
			}
		}
		if next := elsewhere(1, 2, bye, draw) % 2; next != 1 {
			t.Errorf("of two, to %d", next)
		}
		if next := elsewhere(1, 1, bye, draw); next != 1 {
			t.Errorf("of one, to %d", next)
		}
	}
}

// Rule 12: after each was tried once the pauses are those of any outage, and double.
func TestRule12AfterAGoodbyeEachParentIsHurriedToOnce(t *testing.T) {
	r, bye := retry{parents: 3}, &goodbye{after: time.Second / 2}
	var got []time.Duration
	for _, err := range []error{bye, errBad, errBad, errBad, errBad} {
		got = append(got, r.after(0, err, 1))
	}
	want := []time.Duration{time.Second / 2, time.Second / 2, time.Second / 2, time.Second, 2 * time.Second}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	r.after(time.Second, bye, 1)
	if got := r.after(time.Second, errBad, 0.1); got <= soon/10 {
		t.Errorf("a stream that lived in between: %v", got)
	}
}

// An end that was asked for is no fault; that no parent is found after it is one.
func TestAnOrderlyEndIsToldApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 2)
		c, _ := r.joined(t)
		r.parents[1].closed.Store(true)
		c.say(t, &pb.SyncResponse{Message: &pb.SyncResponse_Goodbye{Goodbye: &pb.Goodbye{Reason: "stopping"}}})
		r.joins(t, 1)
		synctest.Wait()
		r.stop()
		var got []bool
		for _, e := range r.events {
			if e.Kind == Lost {
				got = append(got, e.Orderly())
			}
		}
		if diff := cmp.Diff([]bool{true, false}, got); diff != "" {
			t.Error(diff)
		}
	})
}
