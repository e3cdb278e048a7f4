package decide

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/route"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// in runs a test in a bubble and holds it to leaving nothing behind.
func in(t *testing.T, c *route.Catalog, f func(*testing.T, *world), change ...func(*Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, c, change...)
		defer func() {
			w.stop()
			if n := w.left(); n > 0 {
				t.Errorf("%d calls and attempts are left", n)
			}
		}()
		f(t, w)
	})
}

func TestADecisionHasAllThatAProgramNeedsToSend(t *testing.T) {
	in(t, catalog(), func(t *testing.T, w *world) {
		m := w.pick(&pb.PickRequest{Stream: true, InputTokens: 100})
		name := m.Endpoint
		if m.BaseUrl != "https://"+name+".example/v1" || m.Credential != "key-"+name || m.Model != "m-1" || m.Api != "openai.chat" ||
			m.Dialect != "gemini-next" || m.ApiVersion != "v9" || m.Provider != "p" {
			t.Errorf("decision: %v", m)
		}
		if m.ConnectUs != 1e6 || m.FirstTokenUs != 5e6 || m.StallUs != 3e6 || m.TotalUs != 60e6 {
			t.Errorf("limits: %v", m)
		}
		if _, err := w.FirstToken(as("me"), &pb.FirstTokenRequest{Attempt: m.Attempt}); err != nil {
			t.Error(err)
		}
		if w.state(name).InFlight != 1 {
			t.Error("the attempt is not counted while it is under way")
		}
		if s := w.settle(m.Attempt, "served"); s.Again {
			t.Error("another attempt after a good one")
		}
		if e := w.state(name); e.InFlight != 0 || e.Successes < 0.5 {
			t.Errorf("after it: %+v", e)
		}
		if m := w.pick(&pb.PickRequest{}); m.FirstTokenUs != 0 || m.AnswerUs != 20e6 {
			t.Errorf("limits of a whole answer: %v", m)
		}
	})
}

func TestAFailedAttemptIsFollowedByOneElsewhereOfTheSameCall(t *testing.T) {
	in(t, catalog(), func(t *testing.T, w *world) {
		first := w.pick(&pb.PickRequest{})
		if s := w.settle(first.Attempt, "faulted"); !s.Again {
			t.Fatal("no other attempt is due")
		}
		second := w.pick(&pb.PickRequest{Call: first.Call})
		if second.Endpoint == first.Endpoint || second.Call != first.Call {
			t.Errorf("first %v, then %v", first, second)
		}
		if s := w.settle(second.Attempt, "served"); s.Again {
			t.Error("a third after a good one")
		}
		_, err := w.Pick(as("me"), &pb.PickRequest{Call: first.Call})
		is(t, err, codes.NotFound, 0)
	})
}

func TestWhatReachedTheCallerIsNotSentAgain(t *testing.T) {
	in(t, catalog(), func(t *testing.T, w *world) {
		m := w.pick(&pb.PickRequest{Stream: true})
		s, err := w.Settle(as("me"), &pb.SettleRequest{Attempt: m.Attempt, Outcome: "faulted", Content: true})
		if err != nil || s.Again {
			t.Errorf("%v, %v", s, err)
		}
	})
}

func TestAnAttemptIsSettledOnceAndByItsOwnCallerOnly(t *testing.T) {
	in(t, catalog(), func(t *testing.T, w *world) {
		m := w.pick(&pb.PickRequest{})
		for _, f := range []func() error{
			func() error { _, err := w.Settle(as("mallory"), &pb.SettleRequest{Attempt: m.Attempt}); return err },
			func() error {
				_, err := w.FirstToken(as("mallory"), &pb.FirstTokenRequest{Attempt: m.Attempt})
				return err
			},
			func() error { _, err := w.Pick(as("mallory"), &pb.PickRequest{Call: m.Call}); return err },
		} {
			is(t, f(), codes.NotFound, 0)
		}
		w.settle(m.Attempt, "served")
		_, err := w.Settle(as("me"), &pb.SettleRequest{Attempt: m.Attempt, Outcome: "served"})
		is(t, err, codes.NotFound, 0)
	})
}

func TestShedsAreTypedAndSayWhenToComeBack(t *testing.T) {
	in(t, catalog(), func(t *testing.T, w *world) {
		for range 4 {
			w.pick(&pb.PickRequest{}) // which stay under way
		}
		_, err := w.Pick(as("me"), &pb.PickRequest{Workload: "chat"})
		is(t, err, codes.ResourceExhausted, 2*time.Second)
		_, err = w.Pick(as("me"), &pb.PickRequest{Workload: "chat", Needs: []string{"vision"}})
		is(t, err, codes.FailedPrecondition, 0)
		_, err = w.Pick(as("me"), &pb.PickRequest{Workload: "cha"})
		is(t, err, codes.NotFound, 0)
		_, err = w.Pick(as("me"), &pb.PickRequest{Workload: "chat", InputTokens: -1})
		is(t, err, codes.InvalidArgument, 0)
	})
}

func TestAllOpenIsUnavailableForAWhile(t *testing.T) {
	c := catalog()
	c.Workloads[0].Attempts.Max = 1
	in(t, c, func(t *testing.T, w *world) {
		for range 20 {
			m, err := w.Pick(as("me"), &pb.PickRequest{Workload: "chat"})
			if err != nil {
				is(t, err, codes.Unavailable, 10*time.Second)
				return
			}
			w.settle(m.Attempt, "faulted")
		}
		t.Error("the breakers never opened")
	})
}

func TestARefusedTenantIsToldSo(t *testing.T) {
	c := catalog()
	c.Tenants = []route.Tenant{{Name: "acme", Workloads: []string{"other"}, Caps: route.NoCaps()}}
	in(t, c, func(t *testing.T, w *world) {
		_, err := w.Pick(as("me"), &pb.PickRequest{Workload: "chat", Tenant: "acme"})
		is(t, err, codes.PermissionDenied, 0)
	})
	in(t, catalog(), func(t *testing.T, w *world) {
		_, err := w.Pick(as("me"), &pb.PickRequest{Workload: "chat", Tenant: "acme"})
		is(t, err, codes.PermissionDenied, 0)
	}, func(c *Config) {
		c.May = func(identity, tenant string) error {
			return status.Errorf(codes.PermissionDenied, "%s is not %s", identity, tenant)
		}
	})
}

// What a program forgets is nobody's failure.
func TestAnAttemptThatIsNeverSettledIsSweptAndCountsAgainstNobody(t *testing.T) {
	in(t, catalog(), func(t *testing.T, w *world) {
		m := w.pick(&pb.PickRequest{Stream: true})
		time.Sleep(9 * time.Second) // first_token is 5 s, and there is grace
		if w.left() == 0 {
			t.Error("swept before its grace was over")
		}
		time.Sleep(2 * time.Second)
		if n := w.left(); n > 0 {
			t.Errorf("%d are left", n)
		}
		if e := w.state(m.Endpoint); e.InFlight != 0 || e.Samples != 0 {
			t.Errorf("%+v", e)
		}
		_, err := w.Settle(as("me"), &pb.SettleRequest{Attempt: m.Attempt, Outcome: "timed_out"})
		is(t, err, codes.NotFound, 0)
	})
}

// The program's own timer ends when the library's does: its word still comes in time.
func TestATimeOutThatIsToldALittleLateIsCounted(t *testing.T) {
	in(t, catalog(), func(t *testing.T, w *world) {
		m := w.pick(&pb.PickRequest{Stream: true})
		time.Sleep(5*time.Second + 300*time.Millisecond)
		if s := w.settle(m.Attempt, "timed_out"); !s.Again {
			t.Error("no other attempt is due")
		}
		if e := w.state(m.Endpoint); e.Samples < 0.5 || e.Successes != 0 {
			t.Errorf("%+v", e)
		}
	})
}

func TestACallThatIsNotPickedAgainIsSwept(t *testing.T) {
	in(t, catalog(), func(t *testing.T, w *world) {
		m := w.pick(&pb.PickRequest{})
		w.settle(m.Attempt, "faulted")
		time.Sleep(unclaimed + time.Second)
		if n := w.left(); n > 0 {
			t.Errorf("%d are left", n)
		}
		for _, name := range []string{"a", "b"} {
			if e := w.state(name); e.InFlight != 0 {
				t.Errorf("%+v", e)
			}
		}
	})
}

func TestAPickThatIsGivenUpLeavesNothing(t *testing.T) {
	in(t, catalog(), func(t *testing.T, w *world) {
		ctx, cancel := context.WithTimeout(as("me"), time.Second)
		defer cancel()
		_, err := w.Pick(ctx, &pb.PickRequest{Workload: "chat"})
		is(t, err, codes.DeadlineExceeded, 0)
		w.pick(&pb.PickRequest{}) // by the library that was to be opened for it
	}, func(c *Config) {
		open := c.Open
		c.Open = func(ctx context.Context, identity string) (*clientlib.Client, error) {
			time.Sleep(3 * time.Second)
			return open(ctx, identity)
		}
	})
}

func TestALibraryThatCannotOpenIsOpenedAnewByTheNextCall(t *testing.T) {
	fail := true
	in(t, catalog(), func(t *testing.T, w *world) {
		_, err := w.Pick(as("me"), &pb.PickRequest{Workload: "chat"})
		is(t, err, codes.Unavailable, 0)
		fail = false
		w.pick(&pb.PickRequest{})
	}, func(c *Config) {
		open := c.Open
		c.Open = func(ctx context.Context, identity string) (*clientlib.Client, error) {
			if fail {
				return nil, errors.New("no parent")
			}
			return open(ctx, identity)
		}
	})
}

func TestLibrariesOfIdentitiesAreApartAndIdleOnesAreClosed(t *testing.T) {
	in(t, catalog(), func(t *testing.T, w *world) {
		w.settle(w.pick(&pb.PickRequest{}).Attempt, "served")
		if _, err := w.Pick(as("you"), &pb.PickRequest{Workload: "chat"}); err != nil {
			t.Error(err)
		}
		if len(w.opened) != 2 {
			t.Errorf("%d libraries", len(w.opened))
		}
		time.Sleep(idleAfter + 2*sweepEvery)
		w.Service.mu.Lock()
		n := len(w.cores)
		w.Service.mu.Unlock()
		if n != 0 {
			t.Errorf("%d libraries are open though nobody asks", n)
		}
		w.pick(&pb.PickRequest{})
	})
}

func TestCallsAreBounded(t *testing.T) {
	c := catalog()
	for i := range c.Endpoints {
		c.Endpoints[i].Concurrency = route.Absent
	}
	in(t, c, func(t *testing.T, w *world) {
		for range mostCalls {
			w.pick(&pb.PickRequest{})
		}
		_, err := w.Pick(as("me"), &pb.PickRequest{Workload: "chat"})
		is(t, err, codes.ResourceExhausted, 2*time.Second)
		time.Sleep(26 * time.Second) // answer is 20 s, and there is grace
		w.pick(&pb.PickRequest{})
	})
}

func TestRequestsThatCannotBe(t *testing.T) {
	in(t, catalog(), func(t *testing.T, w *world) {
		long := strings.Repeat("x", 70<<10)
		for name, q := range map[string]*pb.PickRequest{
			"no workload": {}, "a long name": {Workload: long}, "a long key": {Workload: "chat", Affinity: long},
			"many needs": {Workload: "chat", Needs: make([]string, 65)}, "a negative time": {Workload: "chat", TimeoutUs: -1},
		} {
			if _, err := w.Pick(as("me"), q); status.Code(err) != codes.InvalidArgument {
				t.Errorf("%s: %v", name, err)
			}
		}
		m := w.pick(&pb.PickRequest{})
		if _, err := w.Settle(as("me"), &pb.SettleRequest{Attempt: m.Attempt, Outcome: "fine"}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("an outcome that is none: %v", err)
		}
		s, err := w.Settle(as("me"), &pb.SettleRequest{Attempt: m.Attempt, Outcome: "limited", RetryAfterUs: 1 << 62, Detail: long, Usage: &pb.Usage{Input: -5, Output: 1 << 62}})
		if err != nil || !s.Again {
			t.Errorf("numbers out of range: %v, %v", s, err)
		}
	})
}

func TestACallEndsAtItsOwnTime(t *testing.T) {
	in(t, catalog(), func(t *testing.T, w *world) {
		m := w.pick(&pb.PickRequest{TimeoutUs: 2e6})
		time.Sleep(2*time.Second + 50*time.Millisecond)
		if s := w.settle(m.Attempt, "timed_out"); s.Again {
			t.Error("another attempt after the call's end")
		}
	})
}
