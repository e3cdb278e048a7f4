package rival

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/controlplane/sim"
	"github.com/pointsman/pointsman/controlplane/sim/server"
	"github.com/pointsman/pointsman/controlplane/sim/traffic"
)

// arena is the smallest world that rivals can be compared in: servers, and clients that ask.
// Nothing but the rival decides, and no control plane is there.
type arena struct {
	speeds  []float64
	clients int
	load    float64 // of the capacity
	seconds int64   // of arrivals; the first fifth is not measured
	faults  []server.Fault
	faulty  int  // the first servers have them
	exact   bool // all prompts and answers are equally long
}

// found is what came of it, in seconds.
type found struct {
	mean, p99, total, total99 float64
	failed, calls             int
}

const meanIn, meanOut = 1648.7, 329.7

func (w *arena) play(t testing.TB, name string, settings map[string]float64, seed uint64) found {
	t.Helper()
	f, err := New(name, settings)
	if err != nil {
		t.Fatal(err)
	}
	v := &sim.View{Seed: seed, Clients: w.clients, Overlay: func(int32) *route.Fleet { return nil }}
	rate := 0.0
	for i, speed := range w.speeds {
		m := &server.Model{Own: &server.Own{Speed: speed}}
		rate += w.load * m.Capacity(meanIn, meanOut)
		var faults []server.Fault
		if i < w.faulty {
			faults = w.faults
		}
		v.Names = append(v.Names, "e"+strconv.Itoa(i))
		v.Shares = append(v.Shares, 100)
		v.Servers = append(v.Servers, server.New(m, seed+uint64(i), faults))
	}
	g := &game{view: v, rival: f(v), warm: w.seconds * 1e6 / 5}
	g.play(w.arrivals(rate, seed))
	return g.found(t)
}

// arrivals are Poisson, of clients by Zipf 0.8, with log-normal lengths.
func (w *arena) arrivals(rate float64, seed uint64) []traffic.Arrival {
	r := rand.New(rand.NewPCG(seed, 1))
	var share []float64
	sum := 0.0
	for c := range w.clients {
		sum += math.Pow(float64(c+1), -0.8)
		share = append(share, sum)
	}
	var out []traffic.Arrival
	for at := 0.0; ; {
		at += r.ExpFloat64() / rate * 1e6
		if at >= float64(w.seconds*1e6) {
			return out
		}
		client, _ := slices.BinarySearch(share, r.Float64()*sum)
		a := traffic.Arrival{At: int64(at), Client: int32(client), Request: traffic.Request{Workload: "chat", Stream: true}, Chance: r.Uint32(),
			Input: int64(1000*math.Exp(r.NormFloat64())) + 1, Output: int64(200*math.Exp(r.NormFloat64())) + 1}
		if w.exact {
			a.Input, a.Output = 1649, 330
		}
		out = append(out, a)
	}
}

// game is one play.
type game struct {
	view         *sim.View
	rival        sim.Rival
	warm         int64
	news         []server.News
	first, total []float64
	failed       int
}

// try is a job and whose it is.
type try struct {
	job           server.Job
	client, place int32
	came          int64
}

func (g *game) play(arrivals []traffic.Arrival) {
	tries := make([]try, len(arrivals))
	eligible := all(len(g.view.Servers))
	for i := range arrivals {
		a := &arrivals[i]
		g.advance(a.At, tries)
		place := int32(g.rival.Choose(a.At, &sim.Query{Client: a.Client, Seed: uint32(i) * 2654435761, Arrival: a, Eligible: eligible}))
		tries[i] = try{job: jobOf(a), client: a.Client, place: place, came: a.At}
		tries[i].job.ID = int32(i)
		g.view.Servers[place].Take(a.At, &tries[i].job)
		g.rival.Sent(a.At, a.Client, place, a)
	}
	g.advance(server.Never-1, tries)
}

func (g *game) advance(until int64, tries []try) {
	for {
		at, s := until, -1
		for i, o := range g.view.Servers {
			if due := o.Due(); due <= at && (s < 0 || due < at) {
				at, s = due, i
			}
		}
		if s < 0 {
			return
		}
		g.news = g.view.Servers[s].Advance(at, g.news[:0])
		for _, n := range g.news {
			g.tell(n, &tries[n.Job.ID])
		}
	}
}

func (g *game) tell(n server.News, y *try) {
	took := n.At - y.came
	switch {
	case n.First:
		g.rival.First(n.At, y.client, y.place, took)
		if y.came >= g.warm {
			g.first = append(g.first, float64(took)/1e6)
		}
		return
	case y.came >= g.warm && n.Outcome.Kind == route.Served:
		g.total = append(g.total, float64(took)/1e6)
	case y.came >= g.warm:
		g.failed++
	}
	g.rival.Ended(n.At, y.client, y.place, n.Outcome.Kind)
}

func (g *game) found(t testing.TB) found {
	t.Helper()
	if len(g.total) == 0 || len(g.first) < len(g.total) {
		t.Fatalf("%d first tokens, %d answers", len(g.first), len(g.total))
	}
	f := found{failed: g.failed, calls: g.failed + len(g.total)}
	f.mean, f.p99 = figures(g.first)
	f.total, f.total99 = figures(g.total)
	return f
}

func figures(x []float64) (mean, p99 float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	slices.Sort(x)
	return mean, x[len(x)*99/100]
}

// pool40 is the pool that strategies are judged on: speeds 0.5, 1 and 2 for 25, 60 and 15 %.
func pool40() []float64 {
	var out []float64
	for i := range 40 {
		switch {
		case i%20 < 5:
			out = append(out, 0.5)
		case i%20 < 17:
			out = append(out, 1)
		default:
			out = append(out, 2)
		}
	}
	return out
}

// even draws anywhere: what knowing nothing gives.
var even = map[string]float64{"draws": 1}

func TestKnownOrderOnEqualServers(t *testing.T) {
	w := &arena{speeds: slices.Repeat([]float64{1}, 16), clients: 8, load: 0.85, seconds: 400}
	m := map[string]float64{"random": w.play(t, "jsq2", even, 1).mean}
	for _, name := range []string{"jsq2", "jsq", "clairvoyant", "least_loaded", "p2c_local", "round_robin"} {
		m[name] = w.play(t, name, nil, 1).mean
	}
	for _, o := range [][2]string{{"clairvoyant", "jsq"}, {"jsq", "jsq2"}, {"jsq2", "p2c_local"}, {"least_loaded", "p2c_local"}, {"p2c_local", "random"}, {"round_robin", "random"}} {
		if m[o[0]] >= m[o[1]] {
			t.Errorf("%s %.3f s, %s %.3f s", o[0], m[o[0]], o[1], m[o[1]])
		}
	}
}

func TestPrequalBeatsWeightedRoundRobinWhenServersSlowDown(t *testing.T) {
	w := &arena{speeds: pool40(), clients: 50, load: 0.7, seconds: 240, faulty: 4,
		faults: []server.Fault{{Kind: server.Slow, From: 60e6, To: 240e6, Factor: 0.3}}}
	prequal, wrr := w.play(t, "prequal", nil, 1), w.play(t, "wrr", nil, 1)
	if prequal.p99*2 > wrr.p99 {
		t.Errorf("p99 %.2f s, %.2f s by true weights (the paper: half and less)", prequal.p99, wrr.p99)
	}
}

func TestPrequalIsNotASinkholeForRequestsThatFailFast(t *testing.T) {
	w := &arena{speeds: pool40(), clients: 50, load: 0.6, seconds: 120, faulty: 8,
		faults: []server.Fault{{Kind: server.FailFast, From: 0, To: 120e6, Part: 0.8}}}
	for _, name := range []string{"prequal", "prequal_sync"} {
		with, without := w.play(t, name, nil, 1), w.play(t, name, map[string]float64{"aversion": 0}, 1)
		if with.failed*50 > with.calls || with.failed*4 > without.failed {
			t.Errorf("%s: %d of %d failed, without aversion %d", name, with.failed, with.calls, without.failed)
		}
	}
}

func TestSameSeedSameResult(t *testing.T) {
	w := &arena{speeds: pool40(), clients: 50, load: 0.8, seconds: 20}
	for _, name := range Names() {
		if a, b := w.play(t, name, nil, 1), w.play(t, name, nil, 1); a != b {
			t.Error(name, a, b)
		}
	}
}
