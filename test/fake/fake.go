// Package fake serves the APIs of models, as OpenAI, Azure and Anthropic have them, over real HTTP from endpoints
// that are slow, limited or broken on command. An endpoint checks for itself what it may be sent and counts what it
// should never have seen, so that no router has to be believed. Demonstrations and tests call it; it knows nothing
// of Pointsman but the header prefix that must never reach it.
package fake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	defaultSlots  = 256
	defaultQueue  = 4096
	defaultWindow = 128_000
	defaultOutput = 16_384
	violationsMax = 100 // kept with their details; all are counted
)

// Config says what one endpoint serves and how fast. Zero values mean the defaults.
type Config struct {
	Name          string
	Models        []string // wire models it serves; none: any
	Key           string   // that it demands where its API wants it; "": none
	Capabilities  []string // stream, tools, vision, json_schema; nil: all
	ContextWindow int64    // tokens, input and output together; 0: 128,000
	MaxOutput     int64    // tokens; 0: 16,384
	TTFT          Latency  // of a request that need not queue
	TPOT          time.Duration
	Slots         int     // requests served at once; 0: 256
	Queue         int     // requests that may wait for a slot, beyond which it answers 503; 0: 4,096
	Speed         float64 // divides TTFT and TPOT; 0: 1
	NoUsage       bool    // answers do not tell how many tokens they cost
	Limits        Limits
	Faults        []Fault
	OnRequest     func(Arrival) // called from many goroutines at once, before anything is answered; must not block
	Listener      net.Listener  // nil: a free port of 127.0.0.1
}

// Latency is the time to the first token.
type Latency struct {
	Base          time.Duration
	PerInputToken time.Duration
}

// Check returns every fault of c at once.
func (c Config) Check() error {
	var errs []error
	negative := func(field string, value float64) {
		if value < 0 {
			errs = append(errs, fmt.Errorf("%s is %v: want 0 or more", field, value))
		}
	}
	negative("ContextWindow", float64(c.ContextWindow))
	negative("MaxOutput", float64(c.MaxOutput))
	negative("TTFT.Base", float64(c.TTFT.Base))
	negative("TTFT.PerInputToken", float64(c.TTFT.PerInputToken))
	negative("TPOT", float64(c.TPOT))
	negative("Slots", float64(c.Slots))
	negative("Queue", float64(c.Queue))
	negative("Speed", c.Speed)
	for _, f := range c.Faults {
		errs = append(errs, f.check())
	}
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	c.ContextWindow = cmp.Or(c.ContextWindow, defaultWindow)
	c.MaxOutput = cmp.Or(c.MaxOutput, defaultOutput)
	c.Slots = cmp.Or(c.Slots, defaultSlots)
	c.Queue = cmp.Or(c.Queue, defaultQueue)
	c.Speed = cmp.Or(c.Speed, 1)
	return c
}

// Arrival is one request as it came in.
type Arrival struct {
	Endpoint string
	Time     time.Time
	Since    time.Duration // since the start of the timeline
	Fault    Kind          // active at that moment
	Model    string
	Stream   bool
	Input    int64 // tokens, estimated
	Output   int64 // tokens that will be generated
	Header   http.Header
}

// Endpoint is a running endpoint. Close ends it.
type Endpoint struct {
	config   Config
	listener net.Listener
	server   *http.Server
	slots    chan struct{}
	quit     context.Context
	cancel   context.CancelFunc
	handlers sync.WaitGroup
	served   chan struct{}

	mu         sync.Mutex
	closed     bool
	start      time.Time
	faults     []Fault
	counts     Counts
	violations []Violation
}

// New starts an endpoint. Its timeline of faults starts now; see Begin.
func New(config Config) (*Endpoint, error) {
	if err := config.Check(); err != nil {
		return nil, fmt.Errorf("fake endpoint %q: %w", config.Name, err)
	}
	listener := config.Listener
	if listener == nil {
		var err error
		if listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return nil, fmt.Errorf("fake endpoint %q: %w", config.Name, err)
		}
	}
	e := &Endpoint{config: config.withDefaults(), listener: listener, served: make(chan struct{}), start: time.Now()}
	e.slots = make(chan struct{}, e.config.Slots)
	e.faults = slices.Clone(config.Faults)
	e.quit, e.cancel = context.WithCancel(context.Background())
	e.server = &http.Server{Handler: e.handler(), ConnState: e.state, BaseContext: func(net.Listener) context.Context { return e.quit }}
	go func() {
		defer close(e.served)
		_ = e.server.Serve(listener) // ends with ErrServerClosed, at Close
	}()
	return e, nil
}

// Name is the configured one.
func (e *Endpoint) Name() string { return e.config.Name }

// Addr is its host and port.
func (e *Endpoint) Addr() string { return e.listener.Addr().String() }

// URL is the base URL that OpenAI's paths, or Anthropic's, are appended to.
func (e *Endpoint) URL() string { return "http://" + e.Addr() + "/v1" }

// AzureURL is the base URL of what Azure would serve.
func (e *Endpoint) AzureURL() string { return "http://" + e.Addr() }

// PlainURL is below which bodies mean nothing.
func (e *Endpoint) PlainURL() string { return "http://" + e.Addr() + "/plain" }

// Close cuts every connection and returns when no request is being served any more.
func (e *Endpoint) Close() error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.cancel()
	err := e.server.Close()
	e.handlers.Wait()
	<-e.served
	return err
}

// Begin makes the timeline of faults count from t.
func (e *Endpoint) Begin(t time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.start = t
}

// Set replaces the faults; none mends the endpoint. A fault without From and To holds from now until the next Set.
func (e *Endpoint) Set(faults ...Fault) error {
	for _, f := range faults {
		if err := f.check(); err != nil {
			return fmt.Errorf("fake endpoint %q: %w", e.config.Name, err)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.faults = slices.Clone(faults)
	return nil
}
