package access

import (
	"context"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const tellEach = time.Second // of those who were turned away: they must not fill the log

// denials counts who was turned away, and keeps the last of them until it is told.
type denials struct {
	mu                     sync.Mutex
	figures                turned
	told                   turned
	identity, method, last string
}

// turned count what was turned away since the start.
type turned struct {
	Unauthenticated uint64 // calls: who called was not known
	Denied          uint64 // calls: who called may not
	Handshakes      uint64 // connections
}

func (d *denials) add(identity, method string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch status.Code(err) {
	case codes.Unauthenticated:
		d.figures.Unauthenticated++
	case codes.PermissionDenied:
		d.figures.Denied++
	default:
		return
	}
	d.identity, d.method, d.last = identity, short(strings.TrimPrefix(method, service)), short(status.Convert(err).Message())
}

const maxTold = 512 // bytes

// short is what of a stranger's words is logged.
func short(text string) string { return text[:min(len(text), maxTold)] }

// Failed counts a connection whose handshake failed; cert.Accept calls it.
func (g *Guard) Failed(from string, err error) {
	d := &g.denied
	d.mu.Lock()
	defer d.mu.Unlock()
	d.figures.Handshakes++
	d.identity, d.method, d.last = from, "handshake", short(err.Error())
}

// tell logs who was turned away, once a second at most, until ctx ends.
func (g *Guard) tell(ctx context.Context) {
	tick := time.NewTicker(tellEach)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			g.tellOnce()
			return
		case <-tick.C:
			g.tellOnce()
		}
	}
}

func (g *Guard) tellOnce() {
	d := &g.denied
	d.mu.Lock()
	now, before, identity, method, last := d.figures, d.told, d.identity, d.method, d.last
	d.told = now
	d.mu.Unlock()
	if now == before {
		return
	}
	g.config.Log.Warn("turned away", "calls", now.Denied+now.Unauthenticated-before.Denied-before.Unauthenticated,
		"connections", now.Handshakes-before.Handshakes, "identity", identity, "method", method, "last", last)
}
