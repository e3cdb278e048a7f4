package route

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/route/money"
)

// teller is a router with one workload of two endpoints, and what its reports tell.
type teller struct {
	*testing.T
	router *Router
	now    int64
}

func newTeller(t *testing.T, change func(*Catalog)) *teller {
	t.Helper()
	c := small()
	c.Workloads[0].Attempts.Total = 100 * second
	for i := range c.Endpoints {
		c.Endpoints[i].ContextWindow = 100_000
	}
	if change != nil {
		change(c)
	}
	x := &teller{T: t, router: NewRouter(), now: second}
	x.router.Apply(x.now, made(t, nil, c, nil))
	return x
}

// send takes an attempt of the first workload.
func (x *teller) send(input int64) Attempt {
	x.Helper()
	c := x.router.Begin(x.now, "w0", Request{Input: input})
	s := x.router.Next(x.now, 1, &c)
	if s.Kind != Send {
		x.Fatalf("the call was not sent: %v", s.Err)
	}
	return s.Attempt
}

func (x *teller) settle(a Attempt, after int64, o Outcome) {
	x.now += after
	x.router.Settle(x.now, a, o)
}

func TestARowSaysHowLongItsTokensTookAndWouldTakeAtSpeedOne(t *testing.T) {
	x := newTeller(t, func(c *Catalog) {
		c.Endpoints[1].Weight, c.Endpoints[0].Capacity.TPOT = 0, 5_000 // its own pace is no measure
	})
	served := Outcome{Kind: Served, HasUsage: true, Usage: money.Usage{Input: 1000, Cached: 400, Output: 100}}
	x.settle(x.send(1000), 3*second, served)
	x.settle(x.send(1000), second, served)
	x.settle(x.send(1000), second, Outcome{Kind: Served}) // who knows how many tokens
	x.settle(x.send(1000), second, Outcome{Kind: Faulted})
	work, busy := uint64(2*(200_000+600*kappa+100*tpot)), uint64(4*second)
	rows := x.router.Report(x.now).Rows
	if len(rows) != 1 || rows[0].WorkUS != work || rows[0].BusyUS != busy {
		t.Errorf("%+v, want %d µs of work in %d µs", rows, work, busy)
	}
	waited, explained := uint64(342_105), uint64(260_000) // 1 s is 1/0.76 of 260 + 100·5 ms, of 600 tokens that were read; the first of a cold endpoint is no sample
	if rows[0].WaitedUS != waited || rows[0].ExplainedUS != explained {
		t.Errorf("%+v, want %d µs waited where %d are explained", rows, waited, explained)
	}
	x.settle(x.send(1000), second, Outcome{Kind: Faulted})
	if rows = x.router.Report(x.now).Rows; rows[0].WorkUS+rows[0].BusyUS+rows[0].WaitedUS+rows[0].ExplainedUS > 0 {
		t.Errorf("what was reported is told again: %+v", rows)
	}
}

func TestWorkIsToldOnceWhateverClassesItHas(t *testing.T) {
	x := newTeller(t, func(c *Catalog) { c.Endpoints[1].Weight = 0 })
	x.settle(x.send(40_000), second, Outcome{Kind: Served, HasUsage: true, Usage: money.Usage{Input: 40_000, Output: 1}})
	rows := x.router.Report(x.now).Rows
	if len(rows) != 2 || rows[0].Class != breaker.Any || rows[0].BusyUS != second || rows[1].BusyUS != 0 {
		t.Errorf("%+v", rows)
	}
}

func TestCallsThatWereRefusedAreToldByWorkloadAndKind(t *testing.T) {
	x := newTeller(t, nil)
	for range 3 {
		x.router.Refused("w0", ShedOpen)
	}
	x.router.Refused("w0", ShedFull)
	x.router.Refused("w2", ShedTenantCap)
	x.router.Refused("unknown", ShedOpen)
	x.router.Refused("w1", shedKinds)
	want := []Shed{{"w0", ShedOpen, 3}, {"w0", ShedFull, 1}, {"w2", ShedTenantCap, 1}}
	if diff := cmp.Diff(want, x.router.Report(x.now).Sheds); diff != "" {
		t.Error(diff)
	}
	if more := x.router.Report(x.now).Sheds; len(more) > 0 {
		t.Errorf("told again: %+v", more)
	}
}

func TestMoreShedsThanAReportTakesWaitForTheNext(t *testing.T) {
	const workloads = 100
	x := newTeller(t, func(c *Catalog) {
		for i := range workloads {
			w := c.Workloads[0]
			w.Name = fmt.Sprintf("x%d", i)
			c.Workloads = append(c.Workloads, w)
		}
	})
	for i := range workloads {
		for k := range shedKinds {
			x.router.Refused(fmt.Sprintf("x%d", i), k)
		}
	}
	told := 0
	for told < workloads*int(shedKinds) {
		n := len(x.router.Report(x.now).Sheds)
		if n == 0 || n > mostTold {
			t.Fatalf("%d in a report, after %d", n, told)
		}
		told += n
	}
}

func TestQuotasThatPauseAreToldUntilTheyDoNot(t *testing.T) {
	x := newTeller(t, func(c *Catalog) {
		c.Quotas = []Quota{{Name: "q", Requests: 1000, Tokens: Absent, Input: Absent, Output: Absent, Daily: Absent}}
		c.Endpoints[0].Quotas = []string{"q"}
	})
	limited := Outcome{Kind: Limited, RetryAfter: 10 * second}
	x.settle(x.send(1), 0, limited)
	x.settle(x.send(1), 0, limited) // at the other one
	spent := x.router.Report(x.now).Spent
	names := map[string]bool{}
	for _, q := range spent {
		names[q.Quota] = q.Until >= x.now+10*second && q.Until <= x.now+12*second
	}
	if !names["q"] || !names["e1"] || len(spent) != 2 {
		t.Errorf("%+v, want quota q and endpoint e1 for about 10 s", spent)
	}
	if again := x.router.Report(x.now + second).Spent; len(again) != 2 {
		t.Errorf("a second later %+v", again)
	}
	if after := x.router.Report(x.now + 13*second).Spent; len(after) != 0 {
		t.Errorf("after they ended: %+v", after)
	}
}
