package clientlib

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pointsman/pointsman/clientlib/route"
)

// watched runs a test of an attempt's watch on a clock that stands still but for sleep.
func watched(t *testing.T, ctx context.Context, l route.Limits, test func(*watch)) {
	t.Helper()
	w := &watch{}
	w.begin(ctx, clock{time.Now()}, l)
	defer w.release()
	test(w)
}

// passed is the limit that ended a watch; empty: none has.
func passed(w *watch) string {
	var limit *LimitError
	if errors.As(context.Cause(w.ctx), &limit) {
		return limit.Limit
	}
	return ""
}

func TestATimerThatComesAfterItsPhaseEndsNothing(t *testing.T) {
	for name, end := range map[string]func(*watch){
		"paused":    (*watch).pause,
		"succeeded": func(w *watch) { w.phase("stall", 1e9) },
		"connected": func(w *watch) { w.connected("first_token", 1e9) },
	} {
		watched(t, t.Context(), route.Limits{Total: 1e9}, func(w *watch) {
			w.phase("connect", 1e6)
			end(w)
			w.look()
			if err := w.ctx.Err(); err != nil {
				t.Errorf("%s: %v", name, context.Cause(w.ctx))
			}
		})
	}
}

func TestLimitsPassInTheirOrder(t *testing.T) {
	const second = 1_000_000
	for _, c := range []struct {
		rule string
		run  func(*watch)
		want string
		at   time.Duration
	}{
		{"a phase that is still on", func(w *watch) { w.phase("first_token", second) }, "first_token", time.Second},
		{"a phase after a longer one", func(w *watch) { w.phase("answer", 20*second); w.phase("stall", second) }, "stall", time.Second},
		{"a phase after a shorter one", func(w *watch) { w.phase("connect", second); w.phase("stall", 2*second) }, "stall", 2 * time.Second},
		{"nothing but the total", func(w *watch) { w.phase("stall", second); w.pause() }, "total", 10 * time.Second},
		{"the total, whatever comes", func(w *watch) {
			for range 20 {
				w.phase("stall", second)
				time.Sleep(600 * time.Millisecond)
			}
		}, "total", 10 * time.Second},
		{"what is left after connecting", func(w *watch) {
			w.phase("connect", 2*second)
			time.Sleep(time.Second)
			w.connected("first_token", 3*second)
		}, "first_token", 3 * time.Second},
		{"connecting is over once", func(w *watch) { w.phase("stall", second); w.connected("first_token", 3*second) }, "stall", time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			watched(t, t.Context(), route.Limits{Total: 10 * second}, func(w *watch) {
				began := time.Now()
				var took time.Duration
				stop := context.AfterFunc(w.ctx, func() { took = time.Since(began) })
				defer stop()
				c.run(w)
				<-w.ctx.Done()
				synctest.Wait()
				if got := passed(w); got != c.want || took.Round(time.Millisecond) != c.at {
					t.Errorf("%s: %q after %v, want %q after %v", c.rule, got, took, c.want, c.at)
				}
			})
		})
	}
}

func TestACallersOwnEndComesBeforeALimitAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		watched(t, ctx, route.Limits{Total: 1e6}, func(w *watch) {
			w.phase("first_token", 1e6-500)
			<-w.ctx.Done()
			if err := context.Cause(w.ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
		})
	})
}

func TestALimitBeyondAnyClockNeverPasses(t *testing.T) {
	watched(t, t.Context(), route.Limits{Total: math.MaxInt64}, func(w *watch) {
		w.phase("answer", math.MaxInt64)
		if w.timer != nil || w.ctx.Err() != nil {
			t.Errorf("%v, %v", w.timer, context.Cause(w.ctx))
		}
	})
}
