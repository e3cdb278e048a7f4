package uplink

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
)

// protocol.md, rule 12.
const (
	firstDelay = time.Second
	lastDelay  = 30 * time.Second
	healthy    = 60 * time.Second
	soon       = 500 * time.Millisecond // to each parent in turn, once, after a goodbye
)

// goodbye is a parent's request to come back within a time, elsewhere if there is one.
type goodbye struct {
	reason string
	after  time.Duration
}

func (g *goodbye) Error() string { return fmt.Sprintf("the parent said goodbye: %s", g.reason) }

// retry spreads reconnects: a delay that doubles at most, fully jittered, and is never above
// what was waited so far and a second. Doubled by its count alone, 1 in 40 would wait for up
// to half a minute after an outage of five seconds. A delay that a parent asks for is kept.
// After a goodbye each parent is tried once without that: others of them may stop as well.
type retry struct {
	parents int
	untried int // since a goodbye
	waited  time.Duration
}

// after gives the pause after a stream that answered for so long and ended by err. Draw is 0 to 1.
func (r *retry) after(lived time.Duration, err error, draw float64) time.Duration {
	if lived >= healthy {
		r.waited = 0
	}
	var bye *goodbye
	if errors.As(err, &bye) {
		r.untried = r.parents - 1
		return jitter(min(max(bye.after, soon), lastDelay), draw)
	}
	if lived > 0 {
		r.untried = 0
	}
	if wait, ok := asked(err); ok { // the parent lives, and says when there is room
		return wait + jitter(firstDelay, draw)
	}
	if r.untried > 0 {
		r.untried--
		return jitter(soon, draw)
	}
	pause := jitter(min(firstDelay+r.waited, lastDelay), draw)
	r.waited = min(r.waited+pause, lastDelay)
	return pause
}

// elsewhere is which parent comes now: the next in turn after a failure, so that none is left
// out, and any other one after a goodbye. Those who were all at one would all go to one again.
func elsewhere(next, parents int, err error, draw float64) int {
	var bye *goodbye
	if errors.As(err, &bye) && parents > 1 {
		return next + min(int(draw*float64(parents-1)), parents-2)
	}
	return next
}

func jitter(d time.Duration, draw float64) time.Duration { return time.Duration(draw * float64(d)) }

// asked is the delay that a refusal carries.
func asked(err error) (time.Duration, bool) {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok {
			return min(max(info.GetRetryDelay().AsDuration(), 0), lastDelay), true
		}
	}
	return 0, false
}
