package clientlib

import (
	"net/http"
	"testing"
	"time"
)

func TestWhatNobodyWatchesCostsNothing(t *testing.T) {
	c, h, ctx := &Client{clock: clock{time.Now()}}, http.Header{}, t.Context()
	call := &call{workload: "chat"}
	f := &flight{client: c, call: call}
	n := testing.AllocsPerRun(100, func() {
		if c.watched() || f.start(c.startCall(ctx, call), h) != ctx {
			t.Error("want the very context")
		}
		c.endCall(call, nil)
	})
	if n > 0 || len(h) > 0 {
		t.Errorf("got %v allocations and headers %v", n, h)
	}
}
