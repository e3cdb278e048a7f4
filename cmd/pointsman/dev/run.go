// Package dev runs all of Pointsman on loopback in one process: an embedded etcd, a
// control plane, an agent, fake endpoints over real HTTP, and callers that use the
// library through the agent. It is a demonstration and a test of the whole.
package dev

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sync/errgroup"
)

// Defaults of Config.
const (
	DefaultSpeed   = 5
	DefaultCallers = 4
	DefaultListen  = "127.0.0.1:7400" // where the command line looks for a control plane
)

// Config says what to run.
type Config struct {
	Trace    string        // an Azure conversation trace, .csv or .csv.gz; empty: made up in its shape
	Speed    float64       // scales arrivals and token times alike
	Callers  int           // besides "lone", which sends one request a second
	Duration time.Duration // 0: until ctx ends
	Faults   []string      // NAME=fail@8s-18s
	Listen   string        // of the control plane; another port is taken when it is in use
	Token    string        // file where the control plane leaves the token of this user; empty: a folder that goes with the run
	Logger   hclog.Logger  // nil: silent
	Table    io.Writer     // where the live table goes; nil: none
}

// Check returns every fault at once.
func (c Config) Check() error {
	var errs []error
	if c.Speed <= 0 || c.Speed > 100 {
		errs = append(errs, fmt.Errorf("speed %v: want more than 0 and at most 100", c.Speed))
	}
	if c.Callers < 1 || c.Callers > 64 {
		errs = append(errs, fmt.Errorf("callers %d: want 1 to 64", c.Callers))
	}
	if c.Duration < 0 {
		errs = append(errs, fmt.Errorf("duration %v is negative", c.Duration))
	}
	_, err := parseFaults(c.Faults)
	return errors.Join(append(errs, err)...)
}

const (
	lone      = "lone"
	startup   = 20 * time.Second // for everything to stand
	patience  = 30 * time.Second // for the last calls: the example catalog's attempts.total
	inFlight  = 4096             // calls at once
	toolsPart = 0.1              // of calls need tools
)

// Run starts the world, sends traffic for c.Duration or until ctx ends, and says what it
// measured.
func Run(ctx context.Context, c Config) (Result, error) {
	if c.Logger == nil {
		c.Logger = hclog.NewNullLogger()
	}
	faults, err := parseFaults(c.Faults)
	if err := errors.Join(c.Check(), err); err != nil {
		return Result{}, err
	}
	var trace []arrival
	if c.Trace != "" {
		if trace, err = readTrace(c.Trace); err != nil {
			return Result{}, err
		}
	}
	if err := os.Setenv(cloudKeyVariable, cloudKey); err != nil {
		return Result{}, err
	}
	w, err := build(ctx, c, faults)
	if err != nil {
		return Result{}, err
	}
	defer w.close()
	serving, stop := context.WithCancel(context.WithoutCancel(ctx)) // the world outlives the traffic
	parts, serving := errgroup.WithContext(serving)
	parts.Go(func() error { return w.control.Run(serving) })
	parts.Go(func() error { return w.agent.Run(serving) })
	result, err := drive(ctx, serving, c, w, newTally(faults, ttftLimit), trace)
	stop()
	if partErr := parts.Wait(); !errors.Is(partErr, context.Canceled) {
		err = errors.Join(err, partErr)
	}
	return result, err
}

// drive publishes, opens the callers, and sends until it is time to stop. A part of the
// world that ends too early ends it.
func drive(ctx, serving context.Context, c Config, w *world, t *tally, trace []arrival) (Result, error) {
	ready, cancel := context.WithTimeout(serving, startup)
	defer cancel()
	if err := w.publish(ready); err != nil {
		return Result{}, err
	}
	callers, err := openAll(ready, c.Callers, w, t)
	defer func() {
		for _, c := range callers {
			c.client.Close()
		}
	}()
	if err != nil {
		return Result{}, err
	}
	t.start(time.Now())
	for _, e := range w.fakes {
		e.Begin(t.begin)
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(serving, stop)()
	if c.Duration > 0 {
		running, stop = context.WithTimeout(running, c.Duration)
		defer stop()
	}
	var aside sync.WaitGroup
	aside.Go(func() { callers[0].watch(running) })
	if c.Table != nil {
		aside.Go(func() { show(running, c.Table, w, callers[0], t) })
	}
	send(running, serving, c, callers, trace)
	aside.Wait()
	violations, reasons := w.violations()
	for reason, n := range reasons {
		t.trouble(fmt.Sprintf("violation at %s, %d times", reason, n))
	}
	return t.finish(callers[0].client.Version().Generation, violations), context.Cause(serving)
}

func openAll(ctx context.Context, n int, w *world, t *tally) ([]*caller, error) {
	var out []*caller
	for i := range n + 1 {
		name := lone
		if i < n {
			name = fmt.Sprintf("caller-%d", i+1)
		}
		c, err := open(ctx, name, w, t)
		if err != nil {
			return out, err
		}
		t.join(name)
		out = append(out, c)
	}
	return out, nil
}

// send paces the arrivals until running ends, and waits for the calls under way.
func send(running, serving context.Context, c Config, callers []*caller, trace []arrival) {
	calls, cancel := context.WithCancel(serving)
	defer cancel()
	slots := make(chan struct{}, inFlight)
	var under sync.WaitGroup
	call := func(c *caller, a arrival, tools bool) {
		slots <- struct{}{}
		under.Go(func() {
			defer func() { <-slots }()
			c.tally.request(c.chat(calls, a, tools))
		})
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	all := len(callers) - 1
	under.Go(func() {
		everySecond(running, func() { call(callers[all], arrival{0, medianInput, medianOutput}, false) })
	})
	start := time.Now()
	for a := range arrivals(trace, rnd) {
		at := start.Add(time.Duration(float64(a.at) / c.Speed))
		if !sleep(running, time.Until(at)) {
			break
		}
		call(callers[rnd.IntN(all)], a, rnd.Float64() < toolsPart)
	}
	defer time.AfterFunc(patience, cancel).Stop()
	under.Wait()
}

func everySecond(ctx context.Context, do func()) {
	for sleep(ctx, time.Second) {
		do()
	}
}

// sleep tells whether ctx still stands after d.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Text is the result for people.
func (r Result) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d requests: %d served, %d shed, %d failed, %d retried; generation %d; %d violations\n",
		r.Requests, r.Served, r.Shed, r.Failed, r.Retried, r.Generation, r.Violations)
	fmt.Fprintf(&b, "time to first token: p50 %.1f ms, p95 %.1f ms, p99 %.1f ms\n", r.TTFT.P50, r.TTFT.P95, r.TTFT.P99)
	names := make([]string, 0, len(r.Share))
	for name := range r.Share {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "%-8s %5.1f %% of attempts\n", name, 100*r.Share[name])
	}
	for _, o := range r.Breaker {
		closed := "still open"
		if o.ClosedAfterMS != nil {
			closed = fmt.Sprintf("closed after %d ms", *o.ClosedAfterMS)
		}
		fmt.Fprintf(&b, "breaker  %s by %s: opened after %d ms and %d failures, %s\n", o.Endpoint, o.By, o.OpenedAfterMS, o.FailuresBeforeOpen, closed)
	}
	for _, c := range r.Callers {
		if c.Hits > 0 {
			fmt.Fprintf(&b, "%-8s %d attempts at a faulty endpoint, %d of them when it should have known\n", c.Name, c.Hits, c.Late)
		}
	}
	return b.String()
}
