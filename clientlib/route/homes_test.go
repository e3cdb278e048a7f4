package route_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
)

// housed is a router with one workload over n endpoints, whose weights come again and again.
func housed(t *testing.T, w route.Workload, n int, weights ...int64) *route.Router {
	t.Helper()
	r := route.NewRouter()
	rehoused(t, r, w, n, nil, weights...)
	return r
}

// rehoused gives it another catalog, without some of the endpoints.
func rehoused(t *testing.T, r *route.Router, w route.Workload, n int, without []int, weights ...int64) {
	t.Helper()
	gone := map[int]bool{}
	for _, i := range without {
		gone[i] = true
	}
	c := &route.Catalog{}
	tier := route.Tier{Name: "t"}
	for i := range n {
		if gone[i] {
			continue
		}
		e := route.Endpoint{
			Name: fmt.Sprintf("e%03d", i), Identity: 1, Model: "m", Artifact: "m@1", APIs: []string{"chat"}, ContextWindow: 1000,
			MaxOutputTokens: 1000, Weight: weights[i%len(weights)], Concurrency: route.Absent,
		}
		c.Endpoints, tier.Endpoints = append(c.Endpoints, e), append(tier.Endpoints, e.Name)
	}
	w.Name, w.APIs, w.Tiers = "w", []string{"chat"}, []route.Tier{tier}
	w.Attempts = route.Attempts{Max: 1, Total: 1e6, Answer: 1e6}
	c.Workloads = []route.Workload{w}
	s, err := route.Compile(nil, c, nil, route.Local{})
	if err != nil {
		t.Fatal(err)
	}
	r.Apply(1, s)
}

// sent is where a request goes; it stays in flight.
func sent(t *testing.T, r *route.Router, seed uint32, q route.Request) (string, route.Attempt) {
	t.Helper()
	c := r.Begin(1, "w", q)
	step := r.Next(1, seed, &c)
	if step.Kind != route.Send {
		t.Fatal(step.Err)
	}
	return step.Endpoint.Name, step.Attempt
}

// spots are where sessions 0 … n−1 go, one at a time.
func spots(t *testing.T, r *route.Router, n int) []string {
	t.Helper()
	all := make([]string, n)
	for i := range n {
		name, a := sent(t, r, uint32(i), route.Request{Session: fmt.Sprint("session ", i)})
		r.Abandon(1, a)
		all[i] = name
	}
	return all
}

var keyed = map[string]route.Workload{
	"hash":     {Strategy: route.Hash},
	"affinity": {Strategy: route.P2C, Affinity: route.Affinity{On: route.AffinitySession, Slack: 2.5}},
}

func TestHomesKeepToTheShares(t *testing.T) {
	weights := []int64{100, 300, 0, 50, 550}
	for name, w := range keyed {
		counts := map[string]int{}
		const n = 20_000
		for _, e := range spots(t, housed(t, w, 5, weights...), n) {
			counts[e]++
		}
		for i, weight := range weights {
			got, want := float64(counts[fmt.Sprintf("e%03d", i)])/n, float64(weight)/1000
			if math.Abs(got-want) > 0.02 {
				t.Errorf("%s: endpoint %d of weight %d is home to %.3f of the sessions", name, i, weight, got)
			}
		}
	}
}

func TestAnEndpointThatLeavesMovesItsOwnSessions(t *testing.T) {
	const n = 5000
	for name, w := range keyed {
		r := housed(t, w, 12, 100)
		before := spots(t, r, n)
		rehoused(t, r, w, 12, []int{5}, 100)
		own, others := 0, 0
		for i, e := range spots(t, r, n) {
			if before[i] == "e005" {
				own++
			} else if e != before[i] {
				others++
			}
		}
		if own < n/15 || own > n/10 || others > n/20 {
			t.Errorf("%s: of %d sessions %d were its own, and %d of others moved", name, n, own, others)
		}
		rehoused(t, r, w, 12, nil, 100)
		for i, e := range spots(t, r, n) {
			if e != before[i] {
				t.Fatalf("%s: session %d does not come back", name, i)
			}
		}
	}
}

func TestNoHomeTakesMoreThanItsBoundedPart(t *testing.T) {
	weights := []int64{100, 200, 300}
	r := housed(t, keyed["hash"], 9, weights...)
	load, total := map[string]int{}, 0
	for i := range 600 {
		q := route.Request{Session: "hot"}
		if i%3 == 0 {
			q.Session = fmt.Sprint(i)
		}
		name, _ := sent(t, r, uint32(i), q)
		if d := r.Decision(); d.Way == route.WayHome {
			var place int
			_, _ = fmt.Sscanf(name, "e%d", &place)
			most := max(1, math.Ceil(1.25*float64(weights[place%3])/1800*float64(total+1)))
			if float64(load[name]+1) > most {
				t.Fatalf("request %d goes home to %s with %d in flight of %d", i, name, load[name], total)
			}
		}
		load[name]++
		total++
	}
}

func TestOneRequestIsNeverTooManyForItsHome(t *testing.T) {
	r := housed(t, keyed["hash"], 100, 100)
	for i := range 50 {
		session := route.Request{Session: fmt.Sprint(i)}
		name, first := sent(t, r, 1, session)
		r.Abandon(1, first)
		again, second := sent(t, r, 2, session)
		r.Abandon(1, second)
		if name != again || r.Decision().Way != route.WayHome {
			t.Errorf("idle, session %d goes to %s, then to %s", i, name, again)
		}
	}
}
