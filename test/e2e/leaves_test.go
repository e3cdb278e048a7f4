//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/route"
)

// leavesConfig is of a process that has many libraries in it, each with calls of its own.
// They send nothing: a file in Faults that is named for an endpoint makes its attempts fail.
type leavesConfig struct {
	Name, Node, Faults string
	Parents            []string
	Snapshot           string // a file, for leaves without parents
	StateDir           string // one below it for each leaf; empty: none
	Leaves             int
	Every              time.Duration // between calls of one leaf
	Look               time.Duration // between looks at what leaves hold
}

// leavesState is what they print, again and again.
type leavesState struct {
	Picks, Failed int              // failed: picks that gave no endpoint
	Backwards     int              // generations that came after a higher one
	Hits          map[string]int   // attempts that failed, by endpoint; probes are not counted
	LastHit       map[string]int64 // when, in µs
	Probes        map[string]int
	Generations   map[uint64]int   // leaves that run it
	Held          map[string]int   // leaves for which the fleet says that an endpoint is open, or half-open
	HeldAt        map[string]int64 // since when the first of them says so, in µs
	Errors        []string
}

type leaves struct {
	config leavesConfig
	all    []*clientlib.Client

	mu    sync.Mutex
	state leavesState
	seen  map[*clientlib.Client]route.CatalogVersion
}

func runLeaves(ctx context.Context, config []byte) error {
	l := &leaves{seen: map[*clientlib.Client]route.CatalogVersion{}}
	if err := json.Unmarshal(config, &l.config); err != nil {
		return err
	}
	l.state = leavesState{Hits: map[string]int{}, LastHit: map[string]int64{}, Probes: map[string]int{}, HeldAt: map[string]int64{}}
	defer func() {
		for _, c := range l.all {
			c.Close()
		}
	}()
	for i := range l.config.Leaves {
		cfg := clientlib.Config{Parents: l.config.Parents, Snapshot: l.config.Snapshot, Name: fmt.Sprintf("%s-%d", l.config.Name, i), Node: l.config.Node, Observer: l}
		if l.config.StateDir != "" {
			cfg.StateDir = filepath.Join(l.config.StateDir, fmt.Sprint(i))
		}
		c, err := clientlib.Open(ctx, cfg)
		if err != nil {
			return err
		}
		l.all = append(l.all, c)
	}
	var calls sync.WaitGroup
	defer calls.Wait()
	for _, c := range l.all {
		calls.Go(func() { l.call(ctx, c) })
	}
	every := time.NewTicker(l.config.Look)
	defer every.Stop()
	for ctx.Err() == nil {
		<-every.C
		l.print()
	}
	return nil
}

// call picks, and settles 5 ms later, at about the pace that is asked for.
func (l *leaves) call(ctx context.Context, c *clientlib.Client) {
	chat := c.Workload("chat")
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(l.config.Every/2 + rand.N(l.config.Every)):
		}
		_, err := clientlib.Do(ctx, chat, clientlib.Request{Stream: true, Input: 100, MaxOutput: 100}, l.send)
		if fault := (*clientlib.Fault)(nil); errors.As(err, &fault) {
			err = nil // it was picked, and all that it was picked for failed
		}
		l.mu.Lock()
		l.state.Picks++
		if err != nil && ctx.Err() == nil {
			l.state.Failed++
			if len(l.state.Errors) < 5 {
				l.state.Errors = append(l.state.Errors, time.Now().Format("15:04:05.000 ")+err.Error())
			}
		}
		l.mu.Unlock()
	}
}

func (l *leaves) send(_ context.Context, a clientlib.Attempt) (int, error) {
	if _, err := os.Stat(filepath.Join(l.config.Faults, a.Endpoint().Name)); err == nil {
		return 0, &clientlib.Fault{Outcome: clientlib.Outcome{Kind: clientlib.Faulted}}
	}
	time.Sleep(5 * time.Millisecond)
	a.FirstToken()
	return 0, nil
}

func (*leaves) Call(clientlib.CallInfo) {}

func (*leaves) Event(clientlib.Event) {}

func (l *leaves) Attempt(a clientlib.AttemptInfo) {
	if a.Outcome.Kind != clientlib.Faulted {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.Probe {
		l.state.Probes[a.Endpoint]++
		return
	}
	l.state.Hits[a.Endpoint]++
	l.state.LastHit[a.Endpoint] = time.Now().UnixMicro()
}

func (l *leaves) print() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.Generations, l.state.Held = map[uint64]int{}, map[string]int{}
	for _, c := range l.all {
		v, was := c.Version(), l.seen[c]
		if v.Epoch < was.Epoch || v.Epoch == was.Epoch && v.Generation < was.Generation {
			l.state.Backwards++
		}
		l.seen[c] = v
		l.state.Generations[v.Generation]++
		for _, e := range c.Endpoints() {
			if e.Fleet == "open" || e.Fleet == "half_open" {
				l.state.Held[e.Name]++
			}
		}
	}
	for name := range l.state.Held {
		if l.state.HeldAt[name] == 0 {
			l.state.HeldAt[name] = time.Now().UnixMicro()
		}
	}
	for name := range l.state.HeldAt {
		if l.state.Held[name] == 0 {
			delete(l.state.HeldAt, name)
		}
	}
	_ = json.NewEncoder(os.Stdout).Encode(l.state) // who reads it may have ended
}

// crowd is a process of leaves as a test sees it.
type crowd struct {
	*process
	config leavesConfig
}

func startLeaves(t *testing.T, c leavesConfig) crowd {
	t.Helper()
	return crowd{startRole(t, roleLeaves, c.Name, c), c}
}

func (c crowd) state() (s leavesState) {
	lines := c.output()
	for i := len(lines) - 1; i >= 0; i-- {
		if json.Unmarshal([]byte(lines[i]), &s) == nil {
			return s
		}
	}
	return leavesState{}
}

// crowds are all of them.
type crowds []crowd

// held counts the leaves that hold an endpoint back as the fleet says, of all, and says
// since when the first of them does.
func (cs crowds) held(endpoint string) (n, all int, since time.Time) {
	var first int64
	for _, c := range cs {
		s := c.state()
		n, all = n+s.Held[endpoint], all+c.config.Leaves
		if at := s.HeldAt[endpoint]; at != 0 && (first == 0 || at < first) {
			first = at
		}
	}
	return n, all, time.UnixMicro(first)
}

func (cs crowds) picks() (n int) {
	for _, c := range cs {
		n += c.state().Picks
	}
	return n
}

// hits counts the attempts at an endpoint that failed, probes apart, and says when the last was.
func (cs crowds) hits(endpoint string) (n, probes int, last time.Time) {
	var at int64
	for _, c := range cs {
		s := c.state()
		n, probes, at = n+s.Hits[endpoint], probes+s.Probes[endpoint], max(at, s.LastHit[endpoint])
	}
	return n, probes, time.UnixMicro(at)
}

// at says whether every leaf runs a generation.
func (cs crowds) at(generation uint64) bool {
	for _, c := range cs {
		if g := c.state().Generations; len(g) != 1 || g[generation] != c.config.Leaves {
			return false
		}
	}
	return true
}
