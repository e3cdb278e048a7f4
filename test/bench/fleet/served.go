package main

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/pointsman/pointsman/agent/hub"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// The catalog and the fleet's state that are served.
const (
	endpoints = 200
	bodySize  = 400 // bytes: an endpoint's with its prices and limits
	storeID   = "0b1f4c1e-4d3a-4a53-8f0c-7f4c1a2b3c4d"
)

var everything = hub.View{Selector: wire.Selector{All: true}}

// contents are the states; versions grow over all that is published in this run.
type contents struct {
	version        uint64
	catalog, fleet *wire.State
}

func newContents() *contents {
	c := &contents{version: 1}
	c.catalog, c.fleet = c.state(pb.Track_TRACK_CATALOG, nil), c.state(pb.Track_TRACK_FLEET, nil)
	return c
}

// state is one track, with some rows of another content.
func (c *contents) state(t pb.Track, change map[string]string) *wire.State {
	kind, v, at, of := pb.Kind_KIND_ENDPOINT, &pb.Version{StoreId: storeID, Epoch: 1, Generation: c.version}, int64(0), c.catalog
	size := bodySize
	if t == pb.Track_TRACK_FLEET {
		kind, v, at, of = pb.Kind_KIND_FLEET_ENDPOINT, &pb.Version{StoreId: storeID, Epoch: 1, Term: 1, Sequence: c.version}, 1, c.fleet
		size = 60
	}
	entries := map[wire.Key]wire.Entry{}
	for k, e := range of.All() {
		entries[k] = e
	}
	for i := range endpoints {
		name := fmt.Sprintf("provider-%02d-model-%03d", i%20, i)
		if _, there := entries[wire.Key{Kind: kind, Name: name}]; there && change[name] == "" {
			continue
		}
		body := []byte(strings.Repeat("x", size) + name + change[name])
		entries[wire.Key{Kind: kind, Name: name}] = wire.Entry{Body: body, Hash: wire.HashOf(body), At: at}
	}
	return wire.NewState(t, v, entries)
}

// changed makes the next state of a track, in which so many rows differ.
func (c *contents) changed(t pb.Track, rows int) *wire.State {
	c.version++
	change := map[string]string{}
	for i := range rows {
		change[fmt.Sprintf("provider-%02d-model-%03d", i%20, i)] = fmt.Sprint(c.version)
	}
	s := c.state(t, change)
	if t == pb.Track_TRACK_CATALOG {
		c.catalog = s
	} else {
		c.fleet = s
	}
	return s
}

// served is a hub on loopback.
type served struct {
	hub      *hub.Hub
	server   *grpc.Server
	address  string
	contents *contents
	start    time.Time
	cancel   context.CancelFunc
	wg       sync.WaitGroup
}

// serve serves the contents. What is more in options goes after the hub's own.
func serve(c *contents, address string, bounds hub.Bounds, options ...grpc.ServerOption) (*served, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	s := &served{contents: c, address: l.Addr().String(), start: time.Now()}
	s.hub = hub.New(hub.Config{Source: s, Up: func(int64, *pb.Report) {}, Now: s.now, Age: -1, Bounds: bounds})
	s.server = grpc.NewServer(append(hub.ServerOptions(), options...)...)
	s.hub.Register(s.server)
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.wg.Go(func() { _ = s.server.Serve(l) })
	s.wg.Go(func() { _ = s.hub.Run(ctx) })
	return s, nil
}

// kill ends it at once: no goodbye, as a process that was killed.
func (s *served) kill() {
	s.server.Stop()
	s.cancel()
	s.wg.Wait()
}

func (s *served) now() int64 { return time.Since(s.start).Microseconds() + 1 }

// Subscribe publishes what there is.
func (s *served) Subscribe(v hub.View) {
	s.hub.PublishUrgent(v, s.contents.catalog)
	s.hub.PublishUrgent(v, s.contents.fleet)
}

// Unsubscribe has nothing to end.
func (s *served) Unsubscribe(hub.View) {}

// HeadAges are of this process.
func (s *served) HeadAges() []*pb.HeadAge {
	return []*pb.HeadAge{{Track: pb.Track_TRACK_CATALOG, Generation: s.contents.catalog.Version().GetGeneration()}, {Track: pb.Track_TRACK_FLEET}}
}
