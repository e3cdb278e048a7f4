package simulate

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pointsman/pointsman/controlplane/sim"
)

func text(r *Report) string {
	var out strings.Builder
	r.WriteText(&out)
	return out.String()
}

func TestTheTableComparesWithTheBestOracleAndWithTrueWeights(t *testing.T) {
	got := text(report(t, plan(fleet, 9, 2), "predictive.ttft_p99 < 1ms", "violations == 0"))
	for _, want := range []string{"P99 / BEST", "P99 / WRR", "FAIRNESS", "COST/1000", "best is clairvoyant, which knows what nobody can",
		"ERROR TIMED_OUT", "FAILS  predictive.ttft_p99 < 1ms  (", "holds  violations == 0  (0, for all 9)"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for line := range strings.Lines(got) {
		if strings.HasPrefix(line, "clairvoyant ") && strings.Contains(line, "±") && !strings.Contains(line, " 1.00  0.0") {
			t.Errorf("the oracle is not 1 of itself: %s", line)
		}
	}
}

func TestColumnsWithNothingInThemAreLeftOut(t *testing.T) {
	got := text(report(t, plan(made{endpoints: 2, calls: 100, tenants: []string{"one"}}, 2, 1)))
	for _, no := range []string{"FAIRNESS", "AVOIDED", "VALID", "BEST", "WRR", "RETRIES", "±"} {
		if strings.Contains(got, no) {
			t.Errorf("%s in\n%s", no, got)
		}
	}
}

func TestFiguresAreAlignedAndNamesHarmless(t *testing.T) {
	p := plan(made{endpoints: 2, calls: 100, tenants: []string{"one"}}, 2, 2)
	p.Points[0].Policies[1] = sim.Policy{Name: "ä\x1b[31m\nname"}
	lines := strings.Split(text(report(t, p)), "\n")[2:5]
	for _, line := range lines[1:] {
		if utf8.RuneCountInString(line) != utf8.RuneCountInString(lines[0]) || strings.ContainsRune(line, 0x1b) {
			t.Errorf("%q is not below %q", line, lines[0])
		}
	}
}

func TestAnAskIsCheckedBeforeItIsRead(t *testing.T) {
	for want, ask := range map[string]Ask{
		"-seeds -1":                {Seeds: -1},
		"-parallel -1":             {Parallel: -1},
		"want name=value,value":    {Sweeps: []string{"load"}},
		"did you mean ttft_p90?":   {Assertions: []string{"ttft_p98 < 2s"}},
		"at most 100":              {Sweeps: []string{"a=" + strings.Repeat("1,", 20) + "1", "b=1,2,3,4,5"}},
		"nothing is compared":      {Assertions: []string{"violations"}},
		"-sweep \"=1\": want name": {Sweeps: []string{"=1"}},
	} {
		if err := ask.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", ask, err, want)
		}
	}
	sets, err := Ask{Sweeps: []string{"a=1,2", "b=x,y"}}.sets()
	if err != nil || len(sets) != 4 || strings.Join(sets[1], " ") != "a=1 b=y" {
		t.Errorf("%q %v", sets, err)
	}
}

func TestAnAssertionOfWhoIsNotRunIsSkippedIfTheScenarioHasItAndRefusedIfAskedFor(t *testing.T) {
	var p Prepared
	run := []sim.Policy{{Name: "predictive"}}
	if err := p.assert([]string{"predictive.errors < 1%", "wrr.errors < 1%"}, []string{"errors < 1%"}, run); err != nil {
		t.Fatal(err)
	}
	if len(p.Assertions) != 2 || len(p.Skipped) != 1 {
		t.Errorf("%+v", p)
	}
	if err := p.assert(nil, []string{"predictve.errors < 1%"}, run); err == nil || !strings.Contains(err.Error(), "did you mean predictive?") {
		t.Error(err)
	}
	if _, err := choose(run, []string{"preditive"}); err == nil || !strings.Contains(err.Error(), "did you mean predictive?") {
		t.Error(err)
	}
}
