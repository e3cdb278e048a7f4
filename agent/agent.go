// Package agent is the one relay of a node: it keeps a single stream to the control plane,
// serves the libraries on its node from it, and starts from its disk when the control
// plane is away.
//
// It judges nothing and divides nothing, and no inference request passes through it.
// cmd/pointsman-agent runs it.
package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"

	"github.com/pointsman/pointsman/agent/decide"
	"github.com/pointsman/pointsman/agent/engine"
	"github.com/pointsman/pointsman/agent/health"
	"github.com/pointsman/pointsman/agent/hub"
	"github.com/pointsman/pointsman/agent/journal"
	"github.com/pointsman/pointsman/clientlib/uplink"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Agent is the relay. Make it with New, then run it.
type Agent struct {
	config    Config
	log       hclog.Logger
	listeners []net.Listener
	server    *grpc.Server
	relay     *relay
	witness   *witness
	decide    *decide.Service
	journal   *journal.Journal
}

// New checks c, listens, and locks the folder of the last good states. Run ends what it began.
func New(c Config) (*Agent, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	c, err := c.filled()
	if err != nil {
		return nil, err
	}
	listeners, err := c.addresses().Open()
	if err != nil {
		return nil, err
	}
	d, err := c.door()
	if err != nil {
		return nil, errors.Join(err, hub.CloseAll(listeners))
	}
	return assemble(c, listeners, d)
}

// assemble makes the parts and joins them.
func assemble(c Config, listeners []net.Listener, d door) (a *Agent, err error) {
	a = &Agent{config: c, log: c.Logger, listeners: listeners}
	if a.relay, err = newRelay(c, d, ears{a.observe, a.observeLink, a.record}); err != nil {
		return nil, errors.Join(err, hub.CloseAll(listeners))
	}
	a.journal = journal.Open(c.journal(a.observeDisk)) // the folder is this process's by now
	a.recall()
	a.witness = newWitness(c, a.relay, a.observeEngine)
	a.decide = decide.New(decide.Config{Open: c.core(d), Caller: caller, May: a.relay.shelf.may})
	a.server = grpc.NewServer(append(d.options, hub.ServerOptions()...)...)
	a.relay.hub.Register(a.server)
	a.journal.Register(a.server)
	a.decide.Register(a.server)
	pb.RegisterNodeServiceServer(a.server, nodeService{agent: a})
	health.Register(a.server, a.Ready)
	return a, nil
}

// Addr is where libraries reach it: the socket if there is one, else the TCP address.
func (a *Agent) Addr() net.Addr { return a.listeners[0].Addr() }

// Status says how the stream to the parent does, and which leaves are below.
func (a *Agent) Status() Status {
	return Status{Link: a.relay.link.Status(), Leaves: a.relay.hub.Leaves()}
}

// Status is how an agent does.
type Status struct {
	Link   uplink.Status
	Leaves []*pb.LeafState
}

// Run serves until ctx ends, tells the libraries to go elsewhere, and waits for all it started.
func (a *Agent) Run(ctx context.Context) error {
	saved := a.relay.link.Load()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var parts, serving, recording sync.WaitGroup
	for _, l := range a.listeners {
		a.log.Info("serving", "address", l.Addr().String())
		serving.Go(func() {
			if err := a.server.Serve(l); err != nil {
				cancel(fmt.Errorf("serve %s: %w", l.Addr(), err))
			}
		})
	}
	var linked error
	for _, part := range []func(context.Context){a.relay.shelf.run, a.witness.run, a.decide.Run} {
		parts.Go(func() { part(ctx) })
	}
	parts.Go(func() { a.alone(ctx, saved) })
	children, gone := context.WithCancel(context.WithoutCancel(ctx))
	recording.Go(func() { a.journal.Run(children) })
	recording.Go(func() { linked = a.relay.link.Run(children) }) // what the hub says last goes up too
	err := a.relay.hub.Run(ctx)
	gone()
	recording.Wait() // before another agent may take the socket, and the folder
	a.server.Stop()
	parts.Wait()
	serving.Wait()
	a.log.Info("stopped")
	return errors.Join(err, linked, failure(ctx))
}

// failure is why ctx ended, unless its owner ended it.
func failure(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ctx.Err()) {
		return nil
	}
	return cause
}

// alone says once that no parent answered in time, and what is served then.
func (a *Agent) alone(ctx context.Context, saved error) {
	wait := time.NewTimer(parentWithin)
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return
	case <-wait.C:
	}
	switch s := a.relay.link.Status(); {
	case s.Connected:
	case saved != nil:
		a.log.Warn("no parent answers, and there is nothing to serve", "saved", saved, "error", s.Err)
	default:
		a.log.Warn("no parent answers: serving the last good states", "dir", a.config.Dir, "error", s.Err)
	}
}

// parentWithin is how long a start waits for the control plane: protocol.md, rule 12.
const parentWithin = 5 * time.Second

// observe logs what changed below.
func (a *Agent) observe(e hub.Event) {
	level := hclog.Info
	if e.Bad() {
		level = hclog.Warn
	}
	a.log.Log(level, "child "+e.Kind.String(), "child", e.Child, "kind", e.Sort, "detail", e.Detail)
}

// record keeps what a leaf recorded.
func (a *Agent) record(leaf string, r *pb.Records) { a.journal.Put(leaf, r) }

// observeDisk logs that the disk takes no records, or does again.
func (a *Agent) observeDisk(err error) {
	if err != nil {
		a.log.Warn("the disk takes no records: a few are kept in memory", "dir", a.config.Dir, "error", err)
		return
	}
	a.log.Info("the disk takes records again", "dir", a.config.Dir)
}

// observeEngine logs that a model server does not tell its load, or does again.
func (a *Agent) observeEngine(t engine.Target, err error) {
	if err != nil {
		a.log.Warn("a model server does not tell its load", "endpoint", t.Endpoint, "error", err)
		return
	}
	a.log.Info("a model server tells its load again", "endpoint", t.Endpoint)
}

// recall takes up the drains of another run.
func (a *Agent) recall() {
	if a.config.Dir == "" {
		return
	}
	drains := a.relay.shelf.drains
	if err := drains.open(a.config.Dir); err != nil {
		a.log.Error("this node's drains cannot be read: it drains nothing", "error", err)
	}
	for _, d := range drains.list() {
		a.log.Warn("drained on this node, as before", "endpoint", d.Endpoint, "until", d.Until, "actor", d.Actor, "reason", d.Reason)
	}
}

// observeLink logs what changed above. A new parent knows nothing of the leaves yet.
func (a *Agent) observeLink(e uplink.Event) {
	switch e.Kind {
	case uplink.Connected:
		a.relay.hub.Resend()
		a.log.Info("connected", "parent", e.Parent)
	case uplink.Lost:
		if e.Orderly() {
			a.log.Info("the stream to the parent ended", "parent", e.Parent, "why", e.Err)
			return
		}
		a.log.Warn("no stream to the parent", "parent", e.Parent, "error", e.Err)
	case uplink.Nacked:
		a.log.Error("the parent's content is bad", "track", e.Track, "version", e.Version, "error", e.Err)
	case uplink.Unsaved, uplink.Ignored:
		a.log.Warn("the disk does not help", "dir", a.config.Dir, "error", e.Err)
	}
}
