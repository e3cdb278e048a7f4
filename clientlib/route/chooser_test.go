package route_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib/route"
)

// chosen is a stage whose router asks a chooser; it keeps what that was asked.
type chosen struct {
	*stage
	want  string // the endpoint to choose; not eligible: the first
	asked [][]string
}

func newChosen(lines ...string) *chosen {
	c := &chosen{stage: newStage()}
	c.router.ChooseBy(func(_ int64, _ uint32, eligible []int32) int {
		names := make([]string, 0, len(eligible))
		for _, place := range eligible {
			names = append(names, c.names()[place])
		}
		c.asked = append(c.asked, names)
		return max(slices.Index(names, c.want), 0)
	})
	c.do(lines...)
	return c
}

// names are the endpoints by place.
func (c *chosen) names() (all []string) {
	for _, e := range c.snapshot.Catalog().Endpoints {
		all = append(all, e.Name)
	}
	slices.Sort(all)
	return all
}

func (c *chosen) do(lines ...string) (out string) {
	for _, l := range lines {
		out += c.run(l)
	}
	return out
}

func (c *chosen) lastAsked() string {
	if len(c.asked) == 0 {
		return "nobody"
	}
	return strings.Join(c.asked[len(c.asked)-1], " ")
}

func TestAChooserChoosesOfWhatPassesTheGates(t *testing.T) {
	for rule, tt := range map[string]struct {
		lines []string
		pick  string
		asked string
		out   string
	}{
		"by name, whatever the order of declaring": {[]string{"apply"}, "pick x w", "a b c", "x to b\n"},
		"a drained one is not there":               {[]string{"override b drain", "apply"}, "pick x w", "a c", "x to a\n"},
		"nor one whose breaker is open":            {[]string{"override a open", "apply"}, "pick x w", "b c", "x to b\n"},
		"nor one without a window for it":          {[]string{"endpoint b window=100", "apply"}, "pick x w input=1000", "a c", "x to a\n"},
		"the next tier, when the first is out":     {[]string{"override a open", "override b open", "override c open", "apply"}, "pick x w", "y z", "x to y\n"},
		"the first, when the next is out":          {[]string{"override y open", "override z open", "apply"}, "pick x w", "a b c", "x to b\n"},
		"no home comes before it":                  {[]string{"apply"}, "pick x h session=s1", "a b c", "x to b\n"},
		"no band either":                           {[]string{"apply"}, "pick x t input=5000", "a b c", "x to b\n"},
	} {
		c := newChosen("endpoint c", "endpoint a", "endpoint b", "endpoint z", "endpoint y", "workload w tiers=t:c,a,b;u:y,z",
			"workload h tiers=t:a,b,c affinity=session", "workload t tiers=t:a,b,c strategy=cost_tiered bands=one:100:m")
		c.want = "b"
		c.do(tt.lines...)
		if out := c.do(tt.pick); out != tt.out || c.lastAsked() != tt.asked {
			t.Errorf("%s: asked of %s, %s", rule, c.lastAsked(), out)
		}
	}
}

func TestAChooserIsNotAskedOfWhatTheCallHasTried(t *testing.T) {
	c := newChosen("endpoint a", "endpoint b", "endpoint c", "workload w tiers=t:a,b,c", "apply")
	c.want = "b"
	c.do("pick x w", "settle x faulted", "next x", "at 3s", "next x", "settle x faulted", "at 4s", "next x", "at 9s", "next x")
	if diff := cmp.Diff([][]string{{"a", "b", "c"}, {"a", "c"}, {"c"}}, c.asked); diff != "" {
		t.Error(diff)
	}
}

func TestProbesGoBeforeAChooser(t *testing.T) {
	c := newChosen("endpoint a consecutive=1", "endpoint b", "workload w tiers=t:a,b", "apply")
	c.want = "a"
	if out := c.do("pick x w", "settle x faulted", "pick x w"); out != "x to a\nx to b\n" || c.lastAsked() != "b" {
		t.Errorf("asked of %s, %s", c.lastAsked(), out)
	}
	c.want = "b"
	if out := c.do("settle x served", "at 60s", "pick x w"); out != "x to a as a probe\n" {
		t.Error(out)
	}
}

func TestAChooserShedsOnlyWhatTheGatesShed(t *testing.T) {
	ramp := "fleet breaker %s state=ramp round=1 from=1s for=1h successes=1"
	c := newChosen("endpoint a", "endpoint b", "endpoint c", "workload w tiers=t:a,b,c", "fleet row a", "fleet row b",
		fmt.Sprintf(ramp, "a"), fmt.Sprintf(ramp, "b"), "apply")
	c.do("override c drain", "apply")
	if out := c.do("spread w n=500 seed=1"); out != "a 500\n" {
		t.Errorf("while all ramp: %s", out)
	}
	c.do("override a open", "override b open", "apply")
	if out := c.do("pick x w"); !strings.Contains(out, "shed") {
		t.Error(out)
	}
}

// Beside one that does not ramp, those that do wait for their turn: but there always is one.
func TestAChooserFindsThoseThatRampWhenTheyAreAllThereIs(t *testing.T) {
	c := newChosen("endpoint a concurrency=1", "endpoint b", "workload w tiers=t:a,b", "fleet row b",
		"fleet breaker b state=ramp round=1 from=1s for=1h successes=1", "apply", "at 2s")
	c.want = "a"
	c.do("pick x w")
	if out := c.do("spread w n=300 seed=1"); out != "b 300\n" {
		t.Errorf("a is full, b at the beginning of its ramp: %s", out)
	}
}

func TestWithoutAChooserTheStrategiesChoose(t *testing.T) {
	c := newChosen("endpoint a", "endpoint b", "workload w tiers=t:a,b", "apply")
	c.router.ChooseBy(nil)
	if out := c.do("spread w n=100 seed=1"); len(c.asked) > 0 || !strings.Contains(out, "a ") || !strings.Contains(out, "b ") {
		t.Errorf("asked %d times: %s", len(c.asked), out)
	}
}

func TestAChooserAllocatesNothingAfterTheFirst(t *testing.T) {
	l := newLoad(t, route.P2C, 50)
	l.router.ChooseBy(func(_ int64, seed uint32, eligible []int32) int { return route.Index(seed, len(eligible)) })
	l.run()
	if n := testing.AllocsPerRun(2*applyEvery, l.run); n != 0 || l.failure != nil {
		t.Errorf("%g allocations, error %v", n, l.failure)
	}
}

func TestAnyOrderIsAnsweredByTheRulesWithAChooserToo(t *testing.T) {
	for seed := range uint32(60) {
		d := newDrill(t)
		d.chooses = true
		d.router.ChooseBy(func(_ int64, seed uint32, eligible []int32) int {
			if len(eligible) == 0 || !slices.IsSorted(eligible) {
				t.Errorf("asked of %v", eligible)
			}
			return route.Index(seed, len(eligible))
		})
		d.run(orders(seed, 300))
	}
}
