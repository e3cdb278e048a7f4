package scenario

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/pointsman/pointsman/controlplane/catalog"
	"github.com/pointsman/pointsman/controlplane/sim/traffic"
)

// source is traffic that can be opened anew, and scaled.
type source interface {
	Check() error
	Open(seed uint64) (traffic.Source, error)
	Stats() (traffic.Stats, error)
}

// traffic puts the sources together. Every run opens each of them anew.
func (r *reader) traffic() {
	list := r.root.All("traffic", 1)
	switch {
	case len(list) == 0:
		r.root.Fail(`add traffic "…" { … }`, "a scenario without traffic")
	case len(list) > maxTraffic:
		r.root.Fail("", "%d sources of traffic; %d at most", len(list), maxTraffic)
		return
	}
	var sources []source
	for _, b := range list {
		if s := r.source(b); s != nil {
			sources = append(sources, s)
		}
		b.Close()
	}
	r.set.Scenario.Traffic = func(seed uint64) (traffic.Source, error) { return merge(sources, seed) }
}

func merge(sources []source, seed uint64) (traffic.Source, error) {
	opened := make([]traffic.Source, 0, len(sources))
	for _, s := range sources {
		o, err := s.Open(seed)
		if err != nil {
			for _, before := range opened {
				if c, ok := before.(io.Closer); ok {
					_ = c.Close() // the first error is what matters
				}
			}
			return nil, err
		}
		opened = append(opened, o)
	}
	return traffic.Merge(opened...), nil
}

// source reads one block; nil: it is wrong, which is said.
func (r *reader) source(b *catalog.Block) source {
	labels, crowd := r.labels(b), r.crowd(b)
	if b.Has("trace") {
		return r.trace(b, labels, crowd)
	}
	return r.generator(b, labels, crowd)
}

func (r *reader) labels(b *catalog.Block) traffic.Labels {
	l := traffic.Labels{Stream: true}
	b.Need("workload")
	if b.Choice("workload", r.workloadNames(), &l.Workload) {
		if w := r.workload(l.Workload); w.Unusable != "" {
			b.Wrong("workload", "", "cannot be routed: %s", w.Unusable)
		}
		r.modelled(b, l.Workload)
	}
	b.Choice("tenant", r.tenantNames(), &l.Tenant)
	b.Texts("needs", &l.Needs)
	b.Flag("stream", &l.Stream)
	b.Whole("max_output", 1, maxTokens, &l.MaxOutput)
	b.Duration("deadline", time.Millisecond, maxDuration, &l.Deadline)
	b.Number("cancel", 0, 1, &l.Cancel)
	b.Duration("patience", time.Millisecond, maxDuration, &l.Patience)
	return l
}

// modelled wants a server for every endpoint that the workload's calls may reach.
func (r *reader) modelled(b *catalog.Block, workload string) {
	var missing []string
	for _, t := range r.workload(workload).Tiers {
		for _, name := range t.Endpoints {
			if _, ok := r.models[name]; !ok && !slices.Contains(missing, name) {
				missing = append(missing, name)
			}
		}
	}
	if len(missing) > 0 {
		more := ""
		if len(missing) > 1 {
			more = fmt.Sprintf(", and %d more", len(missing)-1)
		}
		b.Wrong("workload", fmt.Sprintf("add server %q { … }, or widen a pattern", missing[0]), "uses endpoint %s, which no server block models%s", catalog.Quote(missing[0]), more)
	}
}

// crowd is the clients that ask: all of the fleet, or some.
func (r *reader) crowd(b *catalog.Block) traffic.Crowd {
	all := int64(r.set.Scenario.Fleet.Clients)
	first, clients := int64(0), all
	b.Whole("first_client", 0, maxClients-1, &first)
	if first > 0 {
		clients = all - first
	}
	b.Whole("clients", 1, maxClients, &clients)
	if first+clients > all || clients < 1 {
		b.Fail(fmt.Sprintf("the fleet has %d: raise clients in fleet", all), "clients %d to %d ask", first, first+clients-1)
	}
	c := traffic.Crowd{First: int(first), Clients: int(clients)}
	b.Number("zipf", 0, 5, &c.Zipf)
	return c
}

func (r *reader) generator(b *catalog.Block, labels traffic.Labels, crowd traffic.Crowd) source {
	g := &traffic.Generator{Name: b.Name(), Labels: labels, Crowd: crowd, CV: 1}
	b.Number("cv", 0.01, 100, &g.CV)
	b.Duration("from", 0, maxDuration, &g.From)
	whole := true
	b.Duration("until", 0, maxDuration, &g.Until)
	if b.Has("bodies") {
		g.Bodies = r.bodies(b)
	} else {
		whole = length(b, "input", &g.Input)
		whole = length(b, "output", &g.Output) && whole
	}
	if k := b.One("keys"); k != nil {
		g.Keys = keys(k)
	}
	if s := b.One("sessions"); s != nil {
		g.Sessions = sessions(s)
	}
	scale, ok := scaling(b)
	if !whole || !ok {
		return nil
	}
	g.Rate = 1 // or its own check would fail
	stats, ok := r.stats(b, g)
	if !ok {
		return nil
	}
	g.Rate, ok = r.rate(b, scale, labels.Workload, stats)
	r.set.Rates[b.Name()] = g.Rate
	if !ok || !r.right(b, g) {
		return nil
	}
	return g
}

func length(b *catalog.Block, name string, l *traffic.Length) bool {
	in := b.One(name)
	if in == nil {
		b.Fail("add "+name+" { median = …  sigma = … }", "traffic without %s", name)
		return false
	}
	in.Need("median")
	ok := in.Number("median", 1, maxTokens, &l.Median)
	in.Number("sigma", 0, 5, &l.Sigma)
	in.Whole("max", 1, maxTokens, &l.Max)
	in.Close()
	return ok
}

func keys(b *catalog.Block) traffic.Keys {
	var k traffic.Keys
	var n int64
	b.Need("count", "tokens")
	b.Whole("count", 1, traffic.KeysMax, &n)
	b.Whole("tokens", 1, maxTokens, &k.Tokens)
	b.Number("zipf", 0, 5, &k.Zipf)
	b.Close()
	k.Count = int(n)
	return k
}

func sessions(b *catalog.Block) traffic.Sessions {
	var s traffic.Sessions
	var live int64
	b.Need("turns")
	b.Number("turns", 1, 10_000, &s.Turns)
	b.Whole("live", 1, traffic.LiveMax, &live)
	b.Whole("max_tokens", 1, maxTokens, &s.Max)
	b.Close()
	s.Live = int(live)
	return s
}

// right reports what the traffic's own check finds.
func (r *reader) right(b *catalog.Block, s source) bool {
	if err := s.Check(); err != nil {
		b.Fail("", "%s", inOne(err))
		return false
	}
	return true
}

func (r *reader) stats(b *catalog.Block, s source) (traffic.Stats, bool) {
	if !r.right(b, s) {
		return traffic.Stats{}, false
	}
	stats, err := s.Stats()
	if err != nil {
		b.Fail("", "the trace cannot be played: %s", inOne(err))
		return stats, false
	}
	return stats, true
}

// inOne is an error of several in one line.
func inOne(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
