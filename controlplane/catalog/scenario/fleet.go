package scenario

import (
	"time"

	"github.com/pointsman/pointsman/controlplane/sim"
)

// What a fleet and its callers are unless a scenario says so (clientlib's own defaults, and
// research on what networks do).
const (
	defaultPeriod = time.Second
	defaultDelay  = 50 * time.Millisecond
	defaultPause  = 500 * time.Millisecond
)

func (r *reader) fleet() {
	f := sim.Fleet{
		Clients: 1, Report: defaultPeriod.Microseconds(), Push: defaultPeriod.Microseconds(),
		Delay: defaultDelay.Microseconds(),
	}
	if b := r.root.One("fleet"); b != nil {
		clients := int64(f.Clients)
		b.Whole("clients", 1, maxClients, &clients)
		f.Clients = int(clients)
		for _, p := range b.Listed("localities") {
			f.Localities = append(f.Localities, p.Text)
		}
		b.Duration("report", 10*time.Millisecond, time.Hour, &f.Report)
		b.Duration("push", 10*time.Millisecond, time.Hour, &f.Push)
		b.Duration("delay", 0, time.Minute, &f.Delay)
		b.Duration("jitter", 0, time.Minute, &f.Jitter)
		b.Number("lost", 0, 1, &f.Lost)
		b.Close()
	}
	r.set.Scenario.Fleet = f
}

func (r *reader) callers() {
	c := sim.Callers{SDKPause: defaultPause.Microseconds()}
	if b := r.root.One("callers"); b != nil {
		var retries int64
		b.Whole("sdk_retries", 0, 20, &retries)
		c.SDKRetries = int(retries)
		b.Duration("sdk_pause", time.Millisecond, time.Minute, &c.SDKPause)
		b.Flag("validate", &c.Validate)
		b.Number("estimate", 0, 2, &c.Estimate)
		b.Close()
	}
	r.set.Scenario.Callers = c
}
