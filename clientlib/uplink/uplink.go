// Package uplink keeps the stream to one's parent: it subscribes to views, applies
// updates, passes grants on, sends reports, and keeps the last good catalogs on disk.
//
// It never decides about a request, and losing the stream changes nothing that was
// applied. The library and the agent call it. Rules are cited by their number in the
// protocol's page.
//
//	callers ── box ──► loop ──► Handler            one goroutine: all state is the loop's
//	                  ▲    │
//	     reader ──────┘    ├─► outbox ── sender    two goroutines a stream
//	                       └─► saver ── disk       one goroutine
package uplink

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/pointsman/pointsman/clientlib/cert"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Handler takes what comes down. It is called from one goroutine, in order, and must not block.
type Handler interface {
	// Apply takes the newest state of a track of a view, whole or not at all, and names the
	// workloads it cannot use. Cold: the link held none before. An error refuses the content
	// as bad; then the state that was held stays.
	Apply(view uint32, s *wire.State, cold bool) ([]*pb.Unusable, error)
	// Grant takes a grant that was sent at dated or later.
	Grant(dated int64, g *pb.Grant)
	// Ask takes a question to this leaf, or one below. The answer goes up by answer, once,
	// later and from any goroutine; its number is the link's to write.
	Ask(q *pb.Question, answer func(*pb.Answer))
}

// Config is what a link needs.
type Config struct {
	Parents []string          // "unix:///path" or "host:port", in order of preference
	Hello   *pb.Hello         // who this is; its subscribe, if any, is the first view
	Now     func() int64      // one monotonic clock of the process, µs
	TLS     cert.Files        // by which parents over TCP are reached; none: those on this machine, in plain text
	Token   string            // file of a bearer token that goes with each stream; empty: none does
	Dial    []grpc.DialOption // in the place of what TLS says
	Dir     string            // keeps last good catalogs; empty: nowhere
	Observe func(Event)       // optional; called from one goroutine, must not block
}

// Check returns every fault at once.
func (c *Config) Check() error {
	var errs []error
	if len(c.Parents) == 0 {
		errs = append(errs, errors.New("parents: none"))
	}
	by, err := cert.NewDialer(c.TLS, c.Token)
	if err != nil {
		errs = append(errs, err)
	}
	for _, p := range c.Parents {
		if err := reachable(p, by, c.Dial); err != nil {
			errs = append(errs, err)
		}
	}
	if c.Hello.GetLeaf() == "" {
		errs = append(errs, errors.New("hello.leaf: empty"))
	}
	if c.Now == nil {
		errs = append(errs, errors.New("now: nil"))
	}
	return errors.Join(errs...)
}

// ErrNothingSaved says that no catalog is kept on disk.
var ErrNothingSaved = errors.New("no saved state")

// Link is the stream to one's parent, and what came down it. Make it with New.
type Link struct {
	cfg     Config
	handler Handler
	by      *cert.Dialer
	folder  *folder // nil: nothing is kept
	saver   *saver
	box     *box
	out     atomic.Pointer[outbox]     // of the stream there is
	records atomic.Pointer[pb.Records] // to be sent; they outlive a stream

	wall   func() int64   // µs since 1970, to notice that the machine slept
	random func() float64 // of jitter, 0 to 1

	// The loop's alone.
	views  map[uint32]*view
	loaded bool
	leader term
	clocks wire.Clocks
	retry  retry
	next   int // parent

	mu     sync.Mutex // guards status
	status condition
}

// New checks c and takes the folder: one process per folder.
func New(c Config, h Handler) (*Link, error) {
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("uplink: %w", err)
	}
	l := &Link{
		cfg: c, handler: h, box: newBox(c.Hello.Subscribe), views: map[uint32]*view{}, retry: retry{parents: len(c.Parents)},
		wall: func() int64 { return time.Now().UnixMicro() }, random: rand.Float64,
	}
	var err error
	if l.by, err = cert.NewDialer(c.TLS, c.Token); err != nil {
		return nil, fmt.Errorf("uplink: %w", err)
	}
	if c.Dir != "" {
		if l.folder, err = openFolder(c.Dir); err != nil {
			return nil, fmt.Errorf("uplink: %w", err)
		}
	}
	l.saver = newSaver(l.folder, c.Now)
	return l, nil
}

// Load makes Run offer the saved catalogs to the handler, at once and of each view
// subscribed to later on. An event of kind Loaded says that those of now have been
// offered. ErrNothingSaved: there is none.
func (l *Link) Load() error {
	if l.folder == nil || !l.folder.any() {
		return ErrNothingSaved
	}
	l.box.load()
	return nil
}

// Subscribe asks for a view by the caller's number for it, or changes one.
func (l *Link) Subscribe(view uint32, w Want) { l.box.want(view, w) }

// Unsubscribe drops a view.
func (l *Link) Unsubscribe(view uint32) { l.box.drop(view) }

// Report takes r over, whose ages are as of at, and sends it, in order. Without a stream, or when too many
// wait, reports are lost: a gap, never a zero.
func (l *Link) Report(at int64, r *pb.Report) {
	if out := l.out.Load(); out != nil {
		out.report(at, r)
	}
}

// WantsRecords tells whether the parent keeps records, and the last ones were sent.
func (l *Link) WantsRecords() bool {
	out := l.out.Load()
	return out != nil && out.wanted.Load() && l.records.Load() == nil
}

// Records takes r over and sends it when nothing else waits, to this parent or another that
// wants it. It is for one caller, who asks WantsRecords first.
func (l *Link) Records(r *pb.Records) {
	l.records.Store(r)
	if out := l.out.Load(); out != nil {
		out.wake()
	}
}

// Run keeps a stream to a parent until ctx ends. Then it sends the reports that wait,
// for a second at most, and returns when all it started has ended. It runs once, and
// gives the folder back.
func (l *Link) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() { l.saver.run(stop) })
	l.loop(ctx)
	close(stop)
	wg.Wait()
	return l.folder.close()
}

func (l *Link) observe(e Event) {
	if l.cfg.Observe != nil {
		l.cfg.Observe(e)
	}
}
