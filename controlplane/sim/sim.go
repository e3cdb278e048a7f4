// Package sim plays a scenario: routers as in production, a control plane's judge with its
// delays, modelled endpoints, callers. It decides what comes when, and finds what became of
// it; every choice is made by clientlib/route and controlplane/fleet, or by a rival to compare
// them with. It is pure and deterministic: the same scenario, policy and seed give the same
// result. Callers run many at once.
package sim

import (
	"errors"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/controlplane/sim/measure"
	"github.com/pointsman/pointsman/controlplane/sim/server"
	"github.com/pointsman/pointsman/controlplane/sim/traffic"
)

// Scenario is what is played. Times are µs since the run begins.
type Scenario struct {
	Name     string
	Catalog  *route.Catalog
	Wall     int64                                     // µs since 1970, UTC, when the run begins
	Warmup   int64                                     // calls that come before are played and not measured
	Duration int64                                     // and those that come later are not played; the others are played to their ends
	Bins     int                                       // parts of the duration that are measured apart
	Traffic  func(seed uint64) (traffic.Source, error) // a fresh one: each run reads its own
	Servers  map[string]server.Model                   // by endpoint's name
	Fleet    Fleet
	Faults   []Fault
	Callers  Callers
}

// Fleet is the clients and what they hear.
type Fleet struct {
	Clients    int
	Localities []string // client i is in locality i mod len; none: all are in ""
	Report     int64    // from one report of a client to the next; 0: 1 s
	Push       int64    // from one state to the next, each client at its own phase; 0: 1 s
	Delay      int64    // of each message, up and down
	Jitter     int64    // U(0, Jitter) more
	Lost       float64  // part of the pushes that never come
}

// Callers are how applications treat answers.
type Callers struct {
	SDKRetries int     // how often a call is made anew that failed for the moment, or was shed until a time that is known
	SDKPause   int64   // U(½, 1) of it before the first, doubling to 8 s; 0: half a second. Never into the caller's deadline
	Validate   bool    // invalid answers are refused
	Estimate   float64 // σ of the error in a request's count of input tokens, as a part of it; 0: exact
}

// Fault is something that goes wrong at some endpoints together; without any, at the control
// plane.
type Fault struct {
	Name      string
	Endpoints []string
	server.Fault
}

// Policy is who chooses: our own strategies, as a catalog has them, or a rival in their place.
type Policy struct {
	Name  string
	Edit  func(*route.Catalog) // of a copy; nil: as it is
	Rival func(*View) Rival    // nil: the catalog's strategies choose
}

// Rival chooses among what the gates let through. Client and place count from 0; places are
// those of View.
type Rival interface {
	// Choose gives an index of those eligible. The query is good until it returns.
	Choose(now int64, q *Query) int
	Sent(now int64, client, place int32, a *traffic.Arrival)
	First(now int64, client, place int32, waited int64)
	Ended(now int64, client, place int32, kind route.OutcomeKind)
}

// Query is an attempt that wants a place.
type Query struct {
	Client   int32
	Seed     uint32 // of its draws
	Arrival  *traffic.Arrival
	Eligible []int32 // places; at least one, and they ascend
}

// View is what a rival may see; an honest one says in its comment what of it it uses.
type View struct {
	Seed    uint64
	Clients int
	Names   []string                        // by place
	Shares  []float64                       // configured weights, by place; 100 where the catalog has none
	Servers []*server.Server                // by place: probes ask them, and only oracles know more
	Overlay func(client int32) *route.Fleet // what a client was pushed last; nil: nothing yet
}

// Play plays a scenario once. Now and then it asks watch how to go on: at is the time that it
// has come to, and false ends the run with ErrStopped. An error names what of the scenario or
// its traces cannot be played.
func Play(s *Scenario, p Policy, seed uint64, watch func(at int64) bool) (*measure.Result, error) {
	w, err := newWorld(s, p, seed)
	if w != nil {
		defer w.close()
	}
	if err != nil {
		return nil, err
	}
	if err := w.play(watch); err != nil {
		return nil, err
	}
	return w.result(), nil
}

// ErrStopped is the end of a run that was told to stop.
var ErrStopped = errors.New("stopped")
