package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/controlplane/sim"
	"github.com/pointsman/pointsman/controlplane/sim/measure"
)

func TestResultsAreTheSameBytesWhateverTheWorkers(t *testing.T) {
	encode := func(workers, processors int) string {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		p := plan(made{endpoints: 3, calls: 200, tenants: []string{"a", "b"}}, 4, 3)
		p.Workers = workers
		data, err := json.Marshal(report(t, p, "predictive.ttft_p99 < 2s"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	want := encode(1, 1)
	for _, workers := range []int{0, 1, 2, 7} {
		if diff := cmp.Diff(want, encode(workers, 2)); diff != "" {
			t.Errorf("%d workers: %s", workers, diff)
		}
	}
}

func TestResultsAreInTheOrderOfPointsPoliciesAndSeeds(t *testing.T) {
	p := plan(made{endpoints: 2, calls: 50, tenants: []string{"a"}}, 2, 2)
	p.Points = append(p.Points, p.Points[0])
	results, err := Run(context.Background(), p)
	if err != nil || len(results) != 8 {
		t.Fatal(len(results), err)
	}
	for i, r := range results {
		if r.Policy != policyNames[i/2%2] || r.Seed != uint64(i%2+1) {
			t.Errorf("%d is of %s, seed %d", i, r.Policy, r.Seed)
		}
	}
}

func TestAnInterruptEndsEveryRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan(made{}, 4, 3)
		var playing atomic.Int64
		p.Play = func(_ *sim.Scenario, _ sim.Policy, _ uint64, watch func(int64) bool) (*measure.Result, error) {
			playing.Add(1)
			for watch(0) {
				time.Sleep(10 * time.Millisecond)
			}
			return nil, sim.ErrStopped
		}
		p.Workers = 2
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		begin := time.Now()
		if _, err := Run(ctx, p); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if spent := time.Since(begin); spent > 1100*time.Millisecond || playing.Load() != 2 {
			t.Errorf("%v, %d runs began", spent, playing.Load())
		}
	})
}

func TestTheErrorOfARunSaysWhichAndEndsTheOthers(t *testing.T) {
	p := plan(made{}, 3, 2)
	broken := errors.New("trace.csv:7: no number")
	p.Play = func(_ *sim.Scenario, policy sim.Policy, seed uint64, watch func(int64) bool) (*measure.Result, error) {
		if policy.Name == policyNames[1] && seed == 2 {
			return nil, broken
		}
		for watch(0) {
			time.Sleep(time.Millisecond)
		}
		return nil, sim.ErrStopped
	}
	p.Workers = 6
	if _, err := Run(context.Background(), p); !errors.Is(err, broken) || !strings.Contains(err.Error(), `policy "prequal", seed 2`) {
		t.Error(err)
	}
}

func TestLimitsAreFoundOnceASeedAndGivenToEveryPolicy(t *testing.T) {
	p := plan(made{endpoints: 2, calls: 20, tenants: []string{"a"}}, 3, 2)
	var found atomic.Int64
	p.Bounds = func(_ *sim.Scenario, seed uint64) (measure.Limits, error) {
		found.Add(1)
		return measure.Limits{ZeroTTFT: float64(seed * 1000)}, nil
	}
	results, err := Run(context.Background(), p)
	if err != nil || found.Load() != 2 {
		t.Fatal(found.Load(), err)
	}
	for _, r := range results {
		if r.Limits.ZeroTTFT != float64(r.Seed*1000) {
			t.Errorf("%s, seed %d: %g", r.Policy, r.Seed, r.Limits.ZeroTTFT)
		}
	}
}

func TestProgressSaysHowLongItMayTakeYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		line := Line{W: &out, Since: time.Now()}
		p := plan(made{}, 1, 4)
		p.Workers, p.Progress = 1, line.Show
		p.Play = func(s *sim.Scenario, _ sim.Policy, _ uint64, watch func(int64) bool) (*measure.Result, error) {
			watch(s.Duration / 2)
			time.Sleep(10 * time.Second)
			return measure.New(measure.Plan{}).Result(), nil
		}
		if _, err := Run(context.Background(), p); err != nil {
			t.Fatal(err)
		}
		line.Clear()
		for _, want := range []string{"\r\x1b[K0 of 4 runs, 12 %", "\r\x1b[K2 of 4 runs, 62 %, 15s left", "\r\x1b[K3 of 4 runs, 88 %"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in %q", want, out.String())
			}
		}
	})
}
