package clientlib

import (
	"testing"
	"time"
)

func TestTheClocksZeroIsKeptUntilPeoplesTimeDriftsFromIt(t *testing.T) {
	k := clock{time.Now()}
	at := k.base.UnixMicro()
	for _, c := range []struct {
		rule string
		was  int64
		kept bool
	}{
		{"at first there is none", 0, false},
		{"a little drift is none", at - 900_000, true},
		{"nor is one to the other side", at + 900_000, true},
		{"a suspended machine's clock is behind", at - 3600_000_000, false},
		{"a clock that was set back is ahead", at + 3600_000_000, false},
	} {
		got := k.zero(c.was)
		if kept := got == c.was; kept != c.kept || !kept && (got < at-100_000 || got > at+100_000) {
			t.Errorf("%s: %d after %d, opened at %d", c.rule, got, c.was, at)
		}
	}
}
