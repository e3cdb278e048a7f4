package simulate

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pointsman/pointsman/controlplane/sim"
	"github.com/pointsman/pointsman/controlplane/sim/measure"
)

// Player plays a scenario once, as sim.Play does.
type Player func(s *sim.Scenario, p sim.Policy, seed uint64, watch func(at int64) bool) (*measure.Result, error)

// Bounder finds what no policy can beat, as rival.Bounds does.
type Bounder func(s *sim.Scenario, seed uint64) (measure.Limits, error)

// Point is a scenario with one set of values of its variables. All points of a plan have the
// same policies.
type Point struct {
	Scenario  *sim.Scenario
	Policies  []sim.Policy
	Variables map[string]string
}

// Plan is what is run: every policy at every point with every seed.
type Plan struct {
	Points  []Point
	Seeds   []uint64
	Workers int     // 0: as many as there are processors
	Play    Player  // nil: sim.Play
	Bounds  Bounder // nil: none are computed
	// Progress is told now and then, at most by one at a time, how far it has come.
	Progress func(Progress)
}

// Progress is how far a plan has come.
type Progress struct {
	Done, Runs int     // that ended, of all
	Part       float64 // of the work, 0 to 1
}

const tellEvery = 200 * time.Millisecond

// Run plays everything, and gives the results in the order of points, policies and seeds,
// whatever the workers. An error of one run ends the others; that of ctx ends them all soon.
func Run(ctx context.Context, p Plan) ([]*measure.Result, error) {
	if p.Play == nil {
		p.Play = sim.Play
	}
	r := &runner{plan: p, jobs: p.jobs()}
	r.results = make([]*measure.Result, len(r.jobs))
	r.came = make([]atomic.Int64, len(r.jobs))
	stop := r.tell()
	defer stop()
	if err := r.all(ctx); err != nil {
		return nil, err
	}
	r.shareLimits()
	return r.results, nil
}

// shareLimits gives every policy those found with the first one's runs.
func (r *runner) shareLimits() {
	found := map[*Point]map[uint64]measure.Limits{}
	for i, j := range r.jobs {
		if found[j.point] == nil {
			found[j.point] = map[uint64]measure.Limits{}
		}
		if j.first && r.plan.Bounds != nil {
			found[j.point][j.seed] = r.results[i].Limits
		} else if limits, ok := found[j.point][j.seed]; ok {
			r.results[i].Limits = limits
		}
	}
}

// job is one run.
type job struct {
	point  *Point
	policy sim.Policy
	seed   uint64
	first  bool // of the policies: the limits are found with it
}

func (p *Plan) jobs() (all []job) {
	for i := range p.Points {
		for j, policy := range p.Points[i].Policies {
			for _, seed := range p.Seeds {
				all = append(all, job{&p.Points[i], policy, seed, j == 0})
			}
		}
	}
	return all
}

type runner struct {
	plan    Plan
	jobs    []job
	results []*measure.Result
	came    []atomic.Int64 // millionths of each job's way
	done    atomic.Int64
}

func (r *runner) all(ctx context.Context) error {
	workers := r.plan.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	failed := make([]error, len(r.jobs))
	for i := range r.jobs {
		group.Go(func() error {
			failed[i] = r.one(within, i)
			return failed[i]
		})
	}
	err := group.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, f := range failed { // the first in order, not in time
		if f != nil && !errors.Is(f, sim.ErrStopped) {
			return f
		}
	}
	return err
}

// one plays a job.
func (r *runner) one(ctx context.Context, i int) error {
	if ctx.Err() != nil {
		return sim.ErrStopped
	}
	j := r.jobs[i]
	result, err := r.plan.Play(j.point.Scenario, j.policy, j.seed, func(at int64) bool {
		r.came[i].Store(min(at*whole/max(j.point.Scenario.Duration, 1), whole-1))
		return ctx.Err() == nil
	})
	if err != nil {
		return fmt.Errorf("policy %q, seed %d: %w", j.policy.Name, j.seed, err)
	}
	if j.first && r.plan.Bounds != nil && ctx.Err() == nil {
		if result.Limits, err = r.plan.Bounds(j.point.Scenario, j.seed); err != nil {
			return fmt.Errorf("limits, seed %d: %w", j.seed, err)
		}
	}
	result.Thin()
	r.results[i] = result
	r.came[i].Store(whole)
	r.done.Add(1)
	return nil
}

const whole = 1_000_000

// tell reports the progress until it is stopped.
func (r *runner) tell() (stop func()) {
	if r.plan.Progress == nil {
		return func() {}
	}
	var teller sync.WaitGroup
	end := make(chan struct{})
	teller.Go(func() {
		tick := time.NewTicker(tellEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				r.plan.Progress(r.progress())
			case <-end:
				return
			}
		}
	})
	return func() {
		close(end)
		teller.Wait()
	}
}

func (r *runner) progress() Progress {
	var sum int64
	for i := range r.came {
		sum += r.came[i].Load()
	}
	return Progress{Done: int(r.done.Load()), Runs: len(r.jobs), Part: float64(sum) / float64(max(len(r.jobs), 1)*whole)}
}
