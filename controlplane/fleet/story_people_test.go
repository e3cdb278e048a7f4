package fleet

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pointsman/pointsman/clientlib/route"
)

var kinds = map[string]route.ShedKind{"open": route.ShedOpen, "limited": route.ShedLimited, "full": route.ShedFull}

// agentSays is what the agent of a node saw itself.
func (s *stage) agentSays(what string, names []string, args map[string]string) {
	l := s.leaves["agent "+names[0]]
	if l == nil {
		l = &teller{incarnation: 1}
		s.leaves["agent "+names[0]] = l
	}
	l.sequence++
	r := route.NodeReport{Node: names[0], Incarnation: number(args, "incarnation", l.incarnation), Sequence: number(args, "sequence", l.sequence), At: s.us()}
	float := func(name string) float64 {
		if v, err := strconv.ParseFloat(args[name], 64); err == nil {
			return v
		}
		return route.Absent
	}
	for endpoint := range strings.SplitSeq(names[1], ",") {
		id := number(args, "identity", 1)
		if what == "engine" {
			r.Engines = append(r.Engines, route.EngineLoad{Endpoint: endpoint, Identity: id, Running: float("running"), Waiting: float("waiting"), KVUsed: float("kv"), PromptTPS: float("prompt_tps"), OutputTPS: float("output_tps")})
		} else {
			r.Reaches = append(r.Reaches, route.Reach{Endpoint: endpoint, Identity: id, Reached: args["why"] == "", Reason: args["why"]})
		}
	}
	s.fleet.ObserveNode(s.us(), r)
}

func (s *stage) status() (out string) {
	was := s.fleet.Status(s.us())
	for _, q := range was.Spent {
		out += fmt.Sprintf("%s pauses for %v, say %d leaves\n", q.Quota, time.Duration(q.Until-s.us())*time.Microsecond, q.Leaves)
	}
	for _, w := range was.Shedding {
		out += fmt.Sprintf("%s sheds %.1f a second, %v, at %d leaves\n", w.Workload, w.PerSecond, w.Kind, w.Leaves)
	}
	for _, r := range was.Reaches {
		out += fmt.Sprintf("%s reaches %s: %v %s\n", r.Node, r.Endpoint, r.Reached, r.Reason)
	}
	return out
}
