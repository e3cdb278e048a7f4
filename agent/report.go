package agent

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pointsman/pointsman/agent/dial"
	"github.com/pointsman/pointsman/agent/engine"
	"github.com/pointsman/pointsman/agent/probe"
	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	reportEach = time.Second
	sayAgain   = int64(10e6) // µs: what did not change is said again so often
)

// witness is what this node sees itself, and what it last said of it.
type witness struct {
	node, locality string
	incarnation    uint64
	now            func() int64
	sight          *sight
	reader         *engine.Reader
	prober         *probe.Prober
	up             func(at int64, r *pb.Report)

	sequence uint64
	saidAt   int64            // all of it
	engines  map[string]int64 // when the reading was taken that was said last
	reaches  map[string]route.Reach
}

func newWitness(c Config, r *relay, observe func(engine.Target, error)) *witness {
	hosts, _ := dial.Parse(c.MetricsHosts) // checked
	w := &witness{node: c.Node, locality: c.Locality, incarnation: r.incarnation, now: r.now, sight: r.sight, up: r.up}
	w.reader = engine.New(engine.Config{
		Targets: func() []engine.Target { return r.sight.scene().engines }, Dial: hosts.Dial, Now: r.now, Observe: observe,
	})
	w.prober = probe.New(probe.Config{
		Targets: func() []probe.Target { return r.sight.scene().addresses }, Dial: hosts.Dial, Now: r.now,
	})
	return w
}

// run looks and reports until ctx ends.
func (w *witness) run(ctx context.Context) {
	var parts sync.WaitGroup
	defer parts.Wait()
	parts.Go(func() { w.reader.Run(ctx) })
	parts.Go(func() { w.prober.Run(ctx) })
	tick := time.NewTicker(reportEach)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.report()
		}
	}
}

// report says what is news, and each ten seconds all.
func (w *witness) report() {
	now := w.now()
	whole := now-w.saidAt >= sayAgain
	r := route.NodeReport{Node: w.node, Locality: w.locality, Incarnation: w.incarnation, At: now}
	r.Engines, r.Reaches = w.loads(whole, &r.At), w.changes(whole)
	if len(r.Engines)+len(r.Reaches) == 0 {
		return
	}
	if whole {
		w.saidAt = now
	}
	w.sequence++
	r.Sequence = w.sequence
	w.up(now, &pb.Report{Nodes: []*pb.NodeReport{wire.EncodeNodeReport(now, &r)}})
}

// loads are the readings since those that were said; the report is as old as the oldest.
func (w *witness) loads(whole bool, at *int64) (out []route.EngineLoad) {
	said := w.engines
	w.engines = map[string]int64{}
	for _, l := range w.reader.Loads() {
		w.engines[l.Endpoint] = l.At
		if whole || l.At != said[l.Endpoint] {
			*at = min(*at, l.At)
			out = append(out, l.EngineLoad)
		}
	}
	return out
}

// changes are the addresses that were reached and are not any more, or the other way round.
func (w *witness) changes(whole bool) (out []route.Reach) {
	said := w.reaches
	w.reaches = map[string]route.Reach{}
	for _, r := range w.reached() {
		was, known := said[r.Endpoint]
		w.reaches[r.Endpoint] = r
		if whole || !known || was.Identity != r.Identity || was.Reached != r.Reached || was.Reason != r.Reason {
			out = append(out, r)
		}
	}
	return out
}

const mostReaches = 1000 // of endpoints, in one report

// reached is what is known of each endpoint's address.
func (w *witness) reached() (out []route.Reach) {
	s := w.sight.scene()
	for _, t := range s.addresses {
		v, ok := w.prober.Result(t)
		if !ok {
			continue
		}
		for _, e := range s.at[t] {
			out = append(out, route.Reach{Endpoint: e.Name, Identity: e.Identity, Reached: v.Reached, Reason: v.Reason, Connect: v.Connect})
		}
	}
	slices.SortFunc(out, func(a, b route.Reach) int { return strings.Compare(a.Endpoint, b.Endpoint) })
	return out[:min(len(out), mostReaches)]
}
