package sim

import (
	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/controlplane/sim/measure"
	"github.com/pointsman/pointsman/controlplane/sim/server"
)

const (
	recent   = 100 // attempts that a share is of
	returned = 0.5 // of the usual share
)

// trial is how the fleet meets one fault of endpoints.
type trial struct {
	measure.Fault
	kind    server.FaultKind
	has     []bool // by place
	avoided []bool // by client and endpoint of the fault
	left    int    // of those
	order   map[string]int
	share   float64 // of attempts, now
	usual   float64 // and before the fault
	count   int
}

func newTrial(w *world, f *Fault) *trial {
	t := &trial{kind: f.Kind, has: make([]bool, len(w.names)), order: map[string]int{}}
	t.Name, t.From, t.To, t.Endpoints = f.Name, f.From, f.To, f.Endpoints
	t.Avoided, t.Returned = -1, -1
	for i, name := range f.Endpoints {
		t.has[w.places[name]], t.order[name] = true, i
	}
	t.left = len(f.Endpoints) * w.Fleet.Clients
	t.avoided = make([]bool, t.left)
	t.usual = float64(len(t.order)) / float64(len(w.names))
	return t
}

// sent notes where an attempt goes.
func (t *trial) sent(now int64, place int32) {
	if len(t.order) == 0 { // the control plane's
		return
	}
	x := 0.0
	if t.has[place] {
		x = 1
	}
	t.count++
	t.share += (x - t.share) / float64(min(t.count, recent))
	switch {
	case now < t.From && t.count >= recent:
		t.usual += (x - t.usual) / float64(t.count)
	case now >= t.To && t.Returned < 0 && t.share >= returned*t.usual:
		t.Returned = now - t.To
	}
}

// met tells whether an attempt that ends now met the fault before it was avoided, however long it
// took to fail.
func (t *trial) met(now, sent int64, place int32) bool {
	return t.has[place] && now >= t.From && sent < t.To && (t.Avoided < 0 || sent < t.From+t.Avoided)
}

// tried takes how an attempt ended at the endpoints of faults.
func (w *world) tried(c *call, k route.OutcomeKind) {
	for _, t := range w.trials {
		if !t.met(w.now, c.at, c.place) || k == route.Served || k == route.Cancelled {
			continue
		}
		t.Failed++
		c.client.note()
	}
}

// avoids takes that a client refuses an endpoint, whoever opened it.
func (w *world) avoids(c *client, endpoint string, at int64) {
	for _, t := range w.trials {
		i, in := t.order[endpoint]
		if !in || t.Avoided >= 0 || at < t.From || at >= t.To {
			continue
		}
		pair := &t.avoided[int(c.number)*len(t.Endpoints)+i]
		if *pair {
			continue
		}
		*pair = true
		if t.left--; t.left == 0 {
			t.Avoided = at - t.From
		}
	}
}
