package clientlib_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/money"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// recorded runs a story with a client whose parent keeps records.
func recorded(t *testing.T, story func(*testing.T, *parent, *clientlib.Client)) {
	t.Helper()
	bubble(t, func(t *testing.T, p *parent) {
		p.keeps = true
		c, err := clientlib.Open(t.Context(), p.child())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		synctest.Wait()
		story(t, p, c)
	})
}

// attempt makes one attempt that ends so.
func attempt(t *testing.T, c *clientlib.Client, o clientlib.Outcome) {
	t.Helper()
	a, err := c.Workload("chat").Pick(clientlib.Request{Tenant: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond)
	a.FirstToken()
	time.Sleep(30 * time.Millisecond)
	a.Settle(o)
}

// kept takes the records that came within a second.
func (p *parent) kept() (attempts []*pb.Record, events []*pb.Record, messages int) {
	time.Sleep(time.Second)
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.records {
		for _, r := range m.Records {
			if r.GetEvent() != nil {
				events = append(events, r)
				continue
			}
			attempts = append(attempts, r)
		}
	}
	messages, p.records = len(p.records), nil
	return attempts, events, messages
}

var served = clientlib.Outcome{
	Kind: clientlib.Served, Status: 200, HasUsage: true, Usage: money.Usage{Input: 1200, Cached: 200, Output: 300},
}

func TestAnAttemptIsRecordedWithAllThatItsReplayNeeds(t *testing.T) {
	recorded(t, func(t *testing.T, p *parent, c *clientlib.Client) {
		attempt(t, c, served)
		p.kept()
		attempt(t, c, served)
		attempts, _, _ := p.kept()
		if len(attempts) != 1 {
			t.Fatalf("%d attempts came", len(attempts))
		}
		r := attempts[0]
		if size := proto.Size(r); size > 512 {
			t.Errorf("%d bytes, want at most 512", size)
		}
		want := &pb.Attempt{
			Call: 2, Number: 1, Workload: "chat", Tenant: "acme", Endpoint: "a", Outcome: "served", Domain: "endpoint", Phase: "complete",
			Status: 200, FirstTokenUs: 20_000, TotalUs: 50_000, Usage: &pb.Usage{Input: 1200, Cached: 200, Output: 300},
		}
		rest := protocmp.IgnoreFields(&pb.Attempt{}, "decision")
		if diff := cmp.Diff(want, r.GetAttempt(), protocmp.Transform(), rest); diff != "" {
			t.Error(diff)
		}
		if age := time.Since(time.UnixMicro(r.TimeUs)).Round(time.Millisecond); age != time.Second {
			t.Errorf("it ended %v ago, want a second", age)
		}
		d := wire.Decision(r.GetAttempt().Decision)
		if got, err := route.Replay(&d); got != "a" || err != nil || d.Generation != c.Version().Generation {
			t.Errorf("replay: %q, %v; %+v", got, err, d)
		}
	})
}

// F1: full on error, by sampling, and no more than one a second.
func TestErrorsShedsAndSamplesAreExplained(t *testing.T) {
	recorded(t, func(t *testing.T, p *parent, c *clientlib.Client) {
		for _, story := range []struct {
			name    string
			kinds   []clientlib.OutcomeKind
			explain int
		}{
			{"the first of a thousand", []clientlib.OutcomeKind{clientlib.Served, clientlib.Served}, 1},
			{"what went well", []clientlib.OutcomeKind{clientlib.Served, clientlib.Cancelled}, 0},
			{"two errors in a second", []clientlib.OutcomeKind{clientlib.Faulted, clientlib.Refused}, 1},
		} {
			for _, kind := range story.kinds {
				attempt(t, c, clientlib.Outcome{Kind: kind, Detail: "text"})
			}
			attempts, _, _ := p.kept()
			explained := 0
			for _, r := range attempts {
				if x := r.GetAttempt().Explanation; x != nil {
					explained++
					if len(x.Candidates) != 1 || x.Candidates[0].Endpoint != "a" || x.Candidates[0].Tier != "all" {
						t.Errorf("%s: %v", story.name, x)
					}
				}
			}
			if len(attempts) != len(story.kinds) || explained != story.explain {
				t.Errorf("%s: %d attempts, %d explained", story.name, len(attempts), explained)
			}
		}
		open := func() bool { return c.Endpoints()[0].Local == "open" }
		for range 5 {
			if !open() {
				attempt(t, c, clientlib.Outcome{Kind: clientlib.Faulted})
			}
		}
		p.kept()
		_, err := c.Workload("chat").Pick(clientlib.Request{})
		if err == nil {
			t.Fatal("a breaker that stays closed")
		}
		attempts, _, _ := p.kept()
		if len(attempts) != 1 {
			t.Fatalf("%d records of a shed", len(attempts))
		}
		shed := attempts[0].GetAttempt()
		if shed.Outcome != "shed" || shed.Domain != "endpoint" || shed.Phase != "before_dispatch" || shed.Detail != err.Error() ||
			shed.Number != 0 || shed.Explanation.GetCandidates()[0].Reason != "breaker_open" {
			t.Errorf("%v", shed)
		}
	})
}

func TestEventsAreRecorded(t *testing.T) {
	recorded(t, func(t *testing.T, p *parent, c *clientlib.Client) {
		for range 3 {
			attempt(t, c, clientlib.Outcome{Kind: clientlib.Faulted, Status: 500})
		}
		_, events, _ := p.kept()
		var kinds []string
		for _, r := range events {
			kinds = append(kinds, r.GetEvent().Kind)
		}
		all := strings.Join(kinds, " ")
		for _, want := range []string{"source", "link_connected", "opened"} {
			if !strings.Contains(all, want) {
				t.Errorf("no %s among %s", want, all)
			}
		}
	})
}

// What waits is bounded, and so are messages and their pace; what is lost is counted.
func TestRecordsAreBounded(t *testing.T) {
	recorded(t, func(t *testing.T, p *parent, c *clientlib.Client) {
		p.kept()
		const all = 6000
		for range all {
			a, err := c.Workload("chat").Pick(clientlib.Request{})
			if err != nil {
				t.Fatal(err)
			}
			a.Settle(served)
		}
		var got, lost int64
		for second := range 10 {
			p.mu.Lock()
			p.records = nil
			p.mu.Unlock()
			time.Sleep(time.Second)
			synctest.Wait()
			p.mu.Lock()
			if len(p.records) > 4 {
				t.Errorf("%d messages in second %d", len(p.records), second)
			}
			for _, m := range p.records {
				if size := proto.Size(m); size > 64<<10 {
					t.Errorf("a message of %d bytes", size)
				}
				for _, r := range m.Records {
					if e := r.GetEvent(); e.GetKind() == "dropped" && e.GetName() == "records" {
						lost += e.Count
						continue
					}
					got++
				}
			}
			p.mu.Unlock()
		}
		if got+lost < all || lost < all-4096-10 || lost > all-4096+10 { // and a few events
			t.Errorf("%d came, %d were lost", got, lost)
		}
	})
}

func TestAParentThatKeepsNoRecordsGetsNone(t *testing.T) {
	bubble(t, func(t *testing.T, p *parent) {
		c, err := clientlib.Open(t.Context(), p.child())
		if err != nil {
			t.Fatal(err)
		}
		attempt(t, c, served)
		attempts, events, n := p.kept()
		if len(attempts)+len(events)+n > 0 {
			t.Errorf("%d attempts, %d events", len(attempts), len(events))
		}
		c.Close()
		if _, _, n := p.kept(); n > 0 {
			t.Error("and at its end it sent some")
		}
	})
}

func TestWhatIsRecordedAtTheEndIsSent(t *testing.T) {
	bubble(t, func(t *testing.T, p *parent) {
		p.keeps = true
		c, err := clientlib.Open(t.Context(), p.child())
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		attempt(t, c, served)
		c.Close()
		if attempts, _, _ := p.kept(); len(attempts) != 1 {
			t.Errorf("%d attempts came", len(attempts))
		}
	})
}

// A text that is no valid UTF-8 would end the stream; a long one is cut.
func TestWhateverATextHoldsItCanBeSent(t *testing.T) {
	recorded(t, func(t *testing.T, p *parent, c *clientlib.Client) {
		attempt(t, c, clientlib.Outcome{Kind: clientlib.Refused, Detail: "\xff" + strings.Repeat("é", 4000)})
		attempts, _, _ := p.kept()
		if len(attempts) != 1 {
			t.Fatalf("%d attempts came", len(attempts))
		}
		if d := attempts[0].GetAttempt().Detail; len(d) > 256 || len(d) < 200 || strings.Trim(d, "é?") != "" {
			t.Errorf("detail %q", d)
		}
	})
}
