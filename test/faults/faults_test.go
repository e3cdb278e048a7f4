// Package faults holds sending to sixteen ways in which an endpoint fails while another is well: what the caller gets,
// what the endpoints see and what it costs, in virtual time.
package faults

import (
	"errors"
	"flag"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/test/fake"
)

var long = flag.Bool("long", false, "run every API's faults, and the whole storm")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fault is a way to fail, or one of two sides of it, and what has to come of it.
type fault struct {
	number   int
	name     string
	a, b     []fake.Fault
	quiet    bool // a does not tell usage
	catalog  func(*route.Catalog)
	calls    int
	every    time.Duration
	callers  int  // 0: 1
	streamed bool // an answer in one piece cannot have it
	spelled  bool // the check knows the error by its code
	check    func(*scene)
}

func (f *fault) play(s *scene) {
	s.calls(f.calls, max(f.callers, 1), f.every)
	f.check(s)
	for i := range s.results {
		if r := &s.results[i]; r.usage {
			s.t.Errorf("call %d was told usage, which nobody asked for", i)
		}
	}
	s.end()
	if s.t.Failed() {
		s.log()
	}
}

// run plays it for an API and says whether it went as it should.
func (f *fault) run(t *testing.T, p policy, a *api, after func(*scene)) bool {
	return t.Run(fmt.Sprintf("%d %s/%s", f.number, f.name, p), func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := begin(t, p, cast{a, []fake.Config{{Name: "a", Faults: f.a, NoUsage: f.quiet}, {Name: "b", Faults: f.b}}, f.catalog})
			f.play(s)
			after(s)
		})
	})
}

func TestSixteenFaults(t *testing.T) {
	var told table
	for i := range sixteen {
		f := &sixteen[i]
		for p := range policies {
			if (p != unstreamed || !f.streamed) && (f.callers == 0 || *long) {
				told.judge(f, f.run(t, p, &apis[0], func(s *scene) { told.tell(f, s) }))
			}
		}
	}
	told.print()
}

// What a fault is called does not change what it does.
func TestEveryAPIFailsAlike(t *testing.T) {
	if !*long {
		t.Skip("without -long")
	}
	for i := range apis[1:] {
		a := &apis[1+i]
		t.Run(a.dialect+" "+a.name, func(t *testing.T) {
			for i := range sixteen {
				f := &sixteen[i]
				for p := range policies {
					if !f.spelled && f.callers == 0 && (p != unstreamed || !f.streamed) {
						f.run(t, p, a, func(*scene) {})
					}
				}
			}
		})
	}
}

// right holds all calls to the right answer within a time.
func (s *scene) right(within time.Duration) {
	s.t.Helper()
	for i := range s.results {
		if r := &s.results[i]; !r.right() || r.took > within {
			s.t.Errorf("call %d: %v, want the answer within %v", i, r, within)
		}
	}
}

// broke holds live calls to breaking after so many tokens of a, or to being answered by b once a's breaker is open,
// and says how many broke.
func (s *scene) broke(after int, within time.Duration) (n int) {
	s.t.Helper()
	for i := range s.results {
		r := &s.results[i]
		if r.right() {
			continue
		}
		n++
		var broken *clientlib.StreamError
		switch {
		case r.text != fake.Text(after) || r.ended || r.took > within:
			s.t.Errorf("call %d: %v, want %d tokens", i, r, after)
		case !errors.As(r.err, &broken):
			s.t.Errorf("call %d: %v, want a *StreamError", i, r.err)
		case broken.Endpoint != "a" || broken.Events != after || broken.Usage != (clientlib.Usage{Input: 10, Output: int64(after)}) || !broken.Restartable:
			s.t.Errorf("call %d: %+v", i, broken)
		}
	}
	return n
}

// refused holds all calls to an endpoint's own error.
func (s *scene) refused(status int, code string, attempts int) {
	s.t.Helper()
	for i := range s.results {
		if r := &s.results[i]; r.err != nil || r.status != status || r.code != code || r.attempts != attempts {
			s.t.Errorf("call %d: %v in %d attempts, want %d %s in %d", i, r, r.attempts, status, code, attempts)
		}
	}
}
