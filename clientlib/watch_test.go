package clientlib

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
)

func TestATimerThatComesAfterItsPhaseEndsNothing(t *testing.T) {
	for name, end := range map[string]func(*watch){
		"paused":    (*watch).pause,
		"succeeded": func(w *watch) { w.phase("stall", 1e9) },
	} {
		w := newWatch(t.Context(), route.Limits{Total: 1e9})
		w.phase("first_token", 1e9)
		number := w.phases
		end(w)
		w.passed(number, &LimitError{Limit: "first_token"})
		if err := w.ctx.Err(); err != nil {
			t.Errorf("%s: %v", name, context.Cause(w.ctx))
		}
		w.release()
	}
}

func TestAPhaseThatIsStillOnEndsTheContext(t *testing.T) {
	w := newWatch(t.Context(), route.Limits{Total: 1e9})
	defer w.release()
	w.phase("first_token", 0)
	<-w.ctx.Done()
	var limit *LimitError
	if err := context.Cause(w.ctx); !errors.As(err, &limit) || limit.Limit != "first_token" {
		t.Errorf("%v", err)
	}
}

func TestALimitBeyondAnyClockNeverPasses(t *testing.T) {
	w := newWatch(t.Context(), route.Limits{Total: math.MaxInt64})
	defer w.release()
	w.phase("answer", math.MaxInt64)
	if after := microseconds(math.MaxInt64); after <= 0 || w.ctx.Err() != nil {
		t.Errorf("%v, %v", after, context.Cause(w.ctx))
	}
}
