package clientlib

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/uplink"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// How long Open waits for parents, and how much it reads.
const (
	parentWait  = 5 * time.Second // protocol.md, rule 12
	maxSnapshot = 256 << 20
)

// view of the catalog that a leaf subscribes to; it has one.
const leafView = 1

// Open starts a client and waits for a usable snapshot, or for the end of ctx. It asks
// the parents first; when none has answered for 5 s it takes the last state of
// StateDir, then Snapshot, Bootstrap and Catalog, and goes on asking. Without parents it
// takes these at once. So give ctx more than 5 s. An event of kind "source" names the one in
// use. Close the client.
func Open(ctx context.Context, cfg Config) (*Client, error) {
	if err := cfg.Check(); err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	c, err := newClient(cfg)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	if err := c.await(ctx, cfg); err != nil {
		c.Close()
		return nil, fmt.Errorf("open: %w", err)
	}
	return c, nil
}

// newClient starts everything that runs until Close.
func newClient(cfg Config) (*Client, error) {
	keys, err := newKeyring(cfg, os.Environ())
	if err != nil {
		return nil, err
	}
	c := &Client{
		clock: clock{time.Now()}, keys: keys, count: cfg.CountTokens, observer: cfg.Observer, tracer: cfg.Tracer,
		router: route.NewRouter(), workloads: map[string]*Workload{},
		nudge: make(chan struct{}, 1), events: make(chan Event, maxEvents),
	}
	c.http = newConnections(cfg.HTTP, c.clock.now())
	c.waiting = newWaiting(cfg)
	c.reports = newReports(cfg, c.clock.now())
	c.news = newNews(c, route.Local{Locality: cfg.Locality, Usable: keys.usable})
	if len(cfg.Parents) > 0 {
		c.records = &records{}
		if c.link, err = c.connect(cfg); err != nil {
			return nil, err
		}
	}
	if c.observer != nil {
		c.told.Go(c.observe)
	}
	c.loops = start(c.loop)
	c.links = start(c.run)
	return c, nil
}

func (c *Client) connect(cfg Config) (*uplink.Link, error) {
	sel := cfg.selector()
	r := c.reports
	return uplink.New(uplink.Config{
		Parents: cfg.Parents, TLS: cfg.TLS, Token: cfg.TokenFile, Dial: cfg.Dial, Dir: cfg.StateDir, Now: c.clock.now, Observe: c.linked,
		Hello: &pb.Hello{
			Library: "go", LibraryVersion: version(), Leaf: r.leaf, Node: r.node, Locality: r.locality, Incarnation: r.incarnation,
			Subscribe: &pb.Subscribe{View: leafView, All: sel.All, Workloads: sel.Workloads},
		},
	}, c.news)
}

// running is a goroutine with its end.
type running struct {
	stop context.CancelFunc
	done chan struct{}
}

func start(run func(context.Context)) running {
	ctx, stop := context.WithCancel(context.Background())
	r := running{stop, make(chan struct{})}
	go func() {
		defer close(r.done)
		run(ctx)
	}()
	return r
}

// end stops it and waits.
func (r running) end() {
	r.stop()
	<-r.done
}

// run keeps the link, if there is one, until ctx ends.
func (c *Client) run(ctx context.Context) {
	if c.link == nil {
		return
	}
	if err := c.link.Run(ctx); err != nil && ctx.Err() == nil {
		c.tell(Event{Kind: "link_lost", At: time.Now(), Err: err})
	}
}

// await waits for the first snapshot.
func (c *Client) await(ctx context.Context, cfg Config) error {
	if c.link == nil {
		return c.news.fallbacks(cfg, readSnapshot)
	}
	if c.within(ctx, parentWait) || ctx.Err() != nil {
		return c.still(ctx, nil)
	}
	c.news.from(fromState)
	err := c.link.Load()
	if err == nil {
		select {
		case <-c.news.offered:
		case <-ctx.Done():
		}
	}
	c.news.from(fromParent)
	return c.still(ctx, errors.Join(err, c.news.fallbacks(cfg, readSnapshot)))
}

// still waits for the first snapshot, until ctx ends. It says then what was wrong with
// other sources.
func (c *Client) still(ctx context.Context, others error) error {
	if c.news.isReady() {
		return nil
	}
	select {
	case <-c.news.ready:
		return nil
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("no parent has given a catalog: %w", context.Cause(ctx)), c.link.Status().Err, others)
	}
}

// within says whether a snapshot came in that time.
func (c *Client) within(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.news.ready:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

func readSnapshot(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSnapshot+1))
	if err == nil && len(b) > maxSnapshot {
		err = fmt.Errorf("%s: above %d bytes", path, maxSnapshot)
	}
	return b, err
}

// Close sends a last report and waits for everything that the client started. Attempts
// on their way may still be settled; what they say is lost.
func (c *Client) Close() error {
	c.closing.Do(c.close)
	return nil
}

func (c *Client) close() {
	c.loops.end()
	c.report()
	c.relay()
	c.sendRecords(c.clock.now() + recordsEvery.Microseconds()) // out of turn
	c.links.end()                                              // which sends them
	c.relay()
	c.hush()
	c.told.Wait()
	c.http.close()
}

const module = "github.com/pointsman/pointsman"

// version is this library's, as the program was built with it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	if info.Main.Path == module {
		return info.Main.Version
	}
	for _, d := range info.Deps {
		if d.Path == module {
			return d.Version
		}
	}
	return ""
}
