package clientlib_test

import (
	"errors"
	"testing"
	"time"

	"github.com/pointsman/pointsman/clientlib"
)

func TestCallsThatAreShedAreReportedOnce(t *testing.T) {
	bubble(t, func(t *testing.T, p *parent) {
		c := open(t, p.child())
		fail(t, c, 3) // the only endpoint is out
		for range 4 {
			if _, err := c.Workload("chat").Pick(clientlib.Request{}); !errors.Is(err, clientlib.ErrShed) {
				t.Fatal(err)
			}
		}
		time.Sleep(3 * time.Second)
		var sheds uint64
		for _, r := range p.told() {
			for _, s := range r.GetSheds() {
				if s.GetWorkload() != "chat" || s.GetReason() != "open" {
					t.Errorf("%v", s)
				}
				sheds += s.GetCount()
			}
		}
		if sheds != 4 {
			t.Errorf("%d sheds are reported, of 4", sheds)
		}
		c.Close()
	})
}

func TestAQuotaThatPausesIsToldAgainEachTenSecondsAndNoMore(t *testing.T) {
	bubble(t, func(t *testing.T, p *parent) {
		c := open(t, p.child())
		a, err := c.Workload("chat").Pick(clientlib.Request{})
		if err != nil {
			t.Fatal(err)
		}
		a.Settle(clientlib.Outcome{Kind: clientlib.Limited, RetryAfter: 25_000_000})
		time.Sleep(24500 * time.Millisecond)
		told := p.told()
		if len(told) < 3 || len(told) > 4 {
			t.Fatalf("%d reports in 24 s of a pause: %v", len(told), told)
		}
		for i, r := range told {
			if s := r.GetSpent(); len(s) != 1 || s[0].GetQuota() != "q" || s[0].GetRemainingUs() <= 0 || s[0].GetRemainingUs() > 28e6 {
				t.Errorf("report %d: %v", i, s)
			}
		}
		time.Sleep(10 * time.Second) // it ends: the last one says so
		if told = p.told(); len(told[len(told)-1].GetSpent()) > 0 {
			t.Errorf("after it ended: %v", told[len(told)-1])
		}
		c.Close()
	})
}
