package sim

import (
	"fmt"
	"io"
	"slices"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/controlplane/sim/measure"
	"github.com/pointsman/pointsman/controlplane/sim/server"
	"github.com/pointsman/pointsman/controlplane/sim/traffic"
)

const (
	second     = int64(1_000_000)
	ms         = int64(1000)
	watchEvery = 4096 // events
)

// world is one run.
type world struct {
	*Scenario
	seed    uint64
	catalog *route.Catalog
	clockwork
	endpoints
	traffic   source
	estimates chance
	clients   []client
	plane     plane
	calls     calls
	rival     Rival // nil: the catalog's strategies choose
	findings
}

// clockwork is what drives a run.
type clockwork struct {
	now    int64
	agenda agenda
	events int64
	err    error // that ends the run
}

// findings are what a run is for, and what it is judged by.
type findings struct {
	recorder *measure.Recorder
	rights   rights
	alone    alone
	trials   []*trial
}

// endpoints are by place: in order of names.
type endpoints struct {
	names   []string
	places  map[string]int32
	specs   []*route.Endpoint
	servers []*server.Server
	news    []server.News // scratch
}

// source is the traffic, one arrival ahead.
type source struct {
	traffic.Source
	ahead traffic.Arrival
	count int64
	last  int64
}

func newWorld(s *Scenario, p Policy, seed uint64) (*world, error) {
	w := &world{Scenario: s, seed: seed, catalog: clone(s.Catalog), estimates: stream(seed, forEstimates, 0)}
	if p.Edit != nil {
		p.Edit(w.catalog)
	}
	if err := w.check(); err != nil {
		return nil, err
	}
	w.build()
	w.rights, w.alone = newRights(w), newAlone(w)
	w.recorder = measure.New(measure.Plan{
		Policy: p.Name, Seed: seed, Warmup: s.Warmup, Duration: s.Duration, Bins: s.Bins, Endpoints: w.names,
	})
	if err := w.plane.begin(w); err != nil {
		return nil, err
	}
	w.populate()
	w.compete(p)
	return w, w.open()
}

// build makes the endpoints' servers and what is noted of faults.
func (w *world) build() {
	for i := range w.catalog.Endpoints {
		w.names = append(w.names, w.catalog.Endpoints[i].Name)
	}
	slices.Sort(w.names)
	w.places, w.specs = make(map[string]int32, len(w.names)), make([]*route.Endpoint, len(w.names))
	for place, name := range w.names {
		w.places[name] = int32(place)
	}
	for i := range w.catalog.Endpoints {
		e := &w.catalog.Endpoints[i]
		w.specs[w.places[e.Name]] = e
	}
	for place, name := range w.names {
		var faults []server.Fault
		for _, f := range w.Faults {
			if slices.Contains(f.Endpoints, name) {
				faults = append(faults, f.Fault)
			}
		}
		model := w.Servers[name]
		chance := stream(w.seed, forServers, uint64(place))
		w.servers = append(w.servers, server.New(&model, chance.next(), faults))
		w.agenda.set(ofServer, int32(place), w.servers[place].Due())
	}
	for i := range w.Faults {
		w.trials = append(w.trials, newTrial(w, &w.Faults[i]))
	}
}

func (w *world) open() (err error) {
	w.traffic.Source, err = w.Traffic(w.seed)
	if err != nil {
		return err
	}
	w.ahead()
	return w.err
}

// close lets go of the traffic's files, if it reads some.
func (w *world) close() {
	if c, ok := w.traffic.Source.(io.Closer); ok {
		_ = c.Close() // it was only read
	}
}

// ahead reads the next arrival.
func (w *world) ahead() {
	t := &w.traffic
	more, err := t.Next(&t.ahead)
	switch {
	case err != nil:
		w.err = err
	case !more || t.ahead.At > w.Duration:
		w.agenda.set(ofArrival, 0, forever)
	case t.ahead.At < t.last:
		w.err = fmt.Errorf("arrival %d: comes at %d µs, before the one at %d: sort the trace by time", t.count, t.ahead.At, t.last)
	case t.ahead.Client < 0 || int(t.ahead.Client) >= len(w.clients):
		w.err = fmt.Errorf("arrival %d: is client %d's, want 0 to %d: raise fleet.clients", t.count, t.ahead.Client, len(w.clients)-1)
	default:
		t.last = t.ahead.At
		t.count++
		w.agenda.set(ofArrival, 0, t.ahead.At)
	}
}

// play lets time pass until all calls have ended.
func (w *world) play(watch func(at int64) bool) error {
	for w.err == nil && (w.calls.live > 0 || w.agenda.due(ofArrival, 0) < forever) {
		t := w.agenda.first()
		w.now = t.at
		w.turn(t.kind(), t.number())
		w.events++
		if w.events%watchEvery == 0 && watch != nil && !watch(w.now) {
			return ErrStopped
		}
	}
	return w.err
}

func (w *world) turn(k kind, number int32) {
	switch k {
	case ofServer:
		w.serve(number)
	case ofMail:
		w.deliver(number)
	case ofPlane:
		w.settle()
	case ofTick:
		w.clients[number].tick()
	case ofPush:
		w.push(&w.clients[number])
	case ofQueue:
		w.clients[number].queue.round()
	case ofCall:
		w.wake(w.calls.all[number])
	case ofArrival:
		w.arrive()
	}
}

// serve hears what became of a server's jobs.
func (w *world) serve(place int32) {
	s := w.servers[place]
	w.news = s.Advance(w.now, w.news[:0])
	for i := range w.news {
		n := &w.news[i]
		c := w.calls.all[n.Job.ID]
		switch {
		case c.job != n.Job || c.phase != sent: // dropped by what an earlier one of these brought
		case n.First:
			c.first()
		default:
			c.answered(n)
		}
		n.Job = nil
	}
	w.agenda.set(ofServer, place, s.Due())
}

// result is what the run found.
func (w *world) result() *measure.Result {
	r := w.recorder.Result()
	r.Events = w.events
	for _, t := range w.trials {
		r.Faults = append(r.Faults, t.Fault)
	}
	return r
}
