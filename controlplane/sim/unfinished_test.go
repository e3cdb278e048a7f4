package sim

import (
	"testing"

	"github.com/pointsman/pointsman/controlplane/sim/server"
	"github.com/pointsman/pointsman/controlplane/sim/traffic"
)

// TestWhoIsOnTheWayAtTheEndIsCounted: nothing answers in the last seconds, and those who came then
// give up when the duration is over. Without them a policy that leaves many waiting would look quick.
func TestWhoIsOnTheWayAtTheEndIsCounted(t *testing.T) {
	s := small(2, 2, 5)
	s.Faults = []Fault{fault(server.Hang, 0, 57*second, 500*second, "e00", "e01")}
	came, last := int64(0), int64(0)
	shaped(s, func(_ *chance, a *traffic.Arrival) {
		a.Output, a.Deadline = 1, 5*second
		if a.At <= s.Duration {
			came++
		}
		if a.At > 57*second && a.At <= s.Duration {
			last++
		}
	})
	r := played(t, s, Policy{})
	if r.All.Calls != came || r.All.Late < last || last == 0 {
		t.Errorf("%d calls of %d, %d late, %d came last", r.All.Calls, came, r.All.Late, last)
	}
}
