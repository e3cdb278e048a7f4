package controlplane

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	"github.com/pointsman/pointsman/clientlib/wire"
	"github.com/pointsman/pointsman/controlplane/fleet"
	"github.com/pointsman/pointsman/controlplane/rpc"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// notes are why breakers are not closed, by endpoint, by class and locality.
type notes map[string]map[string]string

func (n notes) open(endpoint string, b *route.FleetBreaker) {
	if n[endpoint] == nil {
		n[endpoint] = map[string]string{}
	}
	word := wordOf(b.Class, b.Locality)
	n[endpoint][word] = fmt.Sprintf("%s, round %d: %s", word, b.Round, b.Reason)
}

func wordOf(c breaker.Class, locality string) string {
	if locality == "" {
		return c.String()
	}
	return c.String() + " in " + locality
}

// recall knows of an earlier term what its rows say.
func (n notes) recall(known *route.Fleet) {
	for i := range known.Endpoints {
		e := &known.Endpoints[i]
		for k := range e.Breakers {
			if b := &e.Breakers[k]; b.State != route.FleetClosed && b.Reason != "" {
				n.open(e.Name, b)
			}
		}
	}
}

// evidence is one line a breaker, sorted.
func (n notes) evidence() map[string][]string {
	out := make(map[string][]string, len(n))
	for endpoint, lines := range n {
		if len(lines) == 0 {
			delete(n, endpoint)
			continue
		}
		out[endpoint] = slices.Sorted(maps.Values(lines))
	}
	return out
}

// note logs an event, keeps what opened a breaker until it closes, and has it written.
func (s *session) note(now int64, e fleet.Event) {
	s.judge.log.Info(title(e), "endpoint", e.Endpoint, "name", e.Name, "class", e.Class, "locality", e.Locality, "round", e.Round, "evidence", e.Evidence)
	switch e.Kind {
	case fleet.Closed:
		delete(s.notes[e.Endpoint], wordOf(e.Class, e.Locality))
	case fleet.Opened:
		s.open(e.Endpoint, &route.FleetBreaker{Class: e.Class, Locality: e.Locality, Round: e.Round, Reason: e.Evidence})
	}
	m := &pb.FleetEvent{
		Kind: strings.ReplaceAll(e.Kind.String(), "-", "_"), Endpoint: e.Endpoint, Name: e.Name,
		Locality: e.Locality, Round: e.Round, Soft: e.Soft, Evidence: e.Evidence,
	}
	if e.Endpoint != "" {
		m.Class = pb.Class(e.Class) + pb.Class_CLASS_ANY // the core counts from 0
	}
	s.judge.events.put(m, time.Now().Add(-time.Duration(max(0, now-e.At))*time.Microsecond))
}

// title is what happened, for the log.
func title(e fleet.Event) string {
	switch e.Kind {
	case fleet.Limited, fleet.Spilling:
		return e.Kind.String()
	}
	return "breaker " + e.Kind.String()
}

// summarize tells people what goes on; nothing is decided by it.
func (s *session) summarize(now int64) {
	was := s.fleet.Status(now)
	s.status = rpc.Judged{Term: s.term.number, Evidence: s.evidence(), Witnesses: s.witness.count(), Reaches: map[string]rpc.Reach{}}
	for _, q := range was.Spent {
		s.status.Spent = append(s.status.Spent, &pb.SpentQuota{Quota: q.Quota, RemainingUs: max(0, q.Until-now), Leaves: uint32(q.Leaves)})
	}
	for _, w := range was.Shedding {
		s.status.Shedding = append(s.status.Shedding, &pb.SheddingWorkload{
			Workload: w.Workload, Reason: wire.ShedWord(w.Kind), PerSecond: w.PerSecond, Leaves: uint32(w.Leaves),
		})
	}
	for _, r := range was.Reaches {
		sum := s.status.Reaches[r.Endpoint]
		if r.Reached {
			sum.Reached++
		} else {
			sum.Unreached, sum.Reason = sum.Unreached+1, r.Node+": "+r.Reason
		}
		s.status.Reaches[r.Endpoint] = sum
	}
	s.judge.origin.learn(s.status)
}
