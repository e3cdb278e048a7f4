//go:build e2e

package e2e

import (
	"os"
	"testing"
	"time"
)

// devResult is what `pointsman dev -json` prints, as far as it is judged here.
type devResult struct {
	Requests, Served, Shed, Failed, Violations int
	Share                                      map[string]float64
	Breaker                                    []struct {
		Endpoint, By   string
		OpenedAfterMS  int64  `json:"opened_after_ms"`
		ClosedAfterMS  *int64 `json:"closed_after_ms"`
		FailuresBefore int    `json:"failures_before_open"`
	}
	Callers []struct {
		Name       string
		Hits, Late int
	}
}

// TestDevAvoidsAFault runs the demonstration under each kind of fault: nothing fails, nobody
// is late, and the endpoint comes back.
func TestDevAvoidsAFault(t *testing.T) {
	for _, kind := range []string{"fail", "hang", "slow"} {
		t.Run(kind, func(t *testing.T) {
			args := []string{"dev", "-speed", "10", "-callers", "4", "-duration", "24s", "-listen", "127.0.0.1:0", "-fault", "gpu-b=" + kind + "@5s-11s", "-json"}
			if trace := os.Getenv("TRACE"); trace != "" {
				args = append(args, "-trace", trace)
			}
			began := time.Now()
			text := runDev(t, args...)
			r := answer[devResult](t, text)
			t.Logf("%s in %v", text, time.Since(began))
			if r.Failed != 0 || r.Violations != 0 || r.Served == 0 || r.Served+r.Shed != r.Requests {
				t.Errorf("%d requests: %d served, %d failed, %d violations", r.Requests, r.Served, r.Failed, r.Violations)
			}
			for _, c := range r.Callers {
				if c.Late > 0 {
					t.Errorf("%s was late %d times", c.Name, c.Late)
				}
				if c.Name == "lone" && c.Hits > 1 {
					t.Errorf("lone hit the fault %d times", c.Hits)
				}
			}
			back := false
			for _, b := range r.Breaker {
				back = back || b.Endpoint == "gpu-b" && b.By == "fleet" && b.ClosedAfterMS != nil
			}
			if !back {
				t.Error("gpu-b's breaker did not open, or did not close again")
			}
		})
	}
}

func runDev(t *testing.T, args ...string) string {
	t.Helper()
	p := startDev(t, args...)
	<-p.ended
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("exit %d", code)
	}
	out := p.output()
	for i, line := range out {
		if line == "{" {
			return join(out[i:])
		}
	}
	t.Fatal("no JSON at the end")
	return ""
}
