package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// short is the smallest example, with what makes it shorter yet.
func short(more ...string) []string {
	return append([]string{"simulate", "../../deploy/examples/scenarios/small.hcl", "-seeds", "2", "-policy", "predictive,wrr,clairvoyant"}, more...)
}

func TestASimulationIsTheSameBytesTwiceAndOnOneProcessorOrTwo(t *testing.T) {
	play := func(processors int, parallel string) string {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		code, stdout, stderr := pointsman(nil, short("-json", "-parallel", parallel)...)
		if code != exitDone {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		return stdout
	}
	first := play(1, "1")
	for _, again := range []string{play(1, "1"), play(2, "2"), play(2, "1")} {
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatal(diff)
		}
	}
	var answer struct {
		Held   bool
		Points []struct {
			Policies []struct{ Policy string }
			Runs     []struct{ Seed uint64 }
		}
	}
	if err := json.Unmarshal([]byte(first), &answer); err != nil || !answer.Held || len(answer.Points) != 1 || len(answer.Points[0].Runs) != 6 {
		t.Errorf("%+v, %v", answer, err)
	}
}

func TestAnAssertionThatDoesNotHoldHasAnExitCodeOfItsOwn(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.html")
	code, stdout, stderr := pointsman(nil, short("-assert", "ttft_mean < 1us", "-assert", "errors < 100%", "-html", page)...)
	if code != exitAsserted || !strings.Contains(stderr, "error: 1 of ") || !strings.Contains(stderr, "assertions do not hold") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if !strings.Contains(stdout, "FAILS  ttft_mean < 1us") || !strings.Contains(stdout, "holds  errors < 100%") {
		t.Error(stdout)
	}
	if data, err := os.ReadFile(page); err != nil || !strings.Contains(string(data), "<svg") {
		t.Errorf("the page: %v", err)
	}
}

func TestASimulationThatIsAskedForWronglyIsNotPlayed(t *testing.T) {
	for _, tc := range []struct {
		code int
		want string
		args []string
	}{
		{exitUsage, "something is missing: pointsman simulate FILE", []string{"simulate"}},
		{exitUsage, "-sweep \"load\": want name=value", short("-sweep", "load")},
		{exitUsage, "no metric \"tftt_p99\": did you mean ttft_p99?", short("-assert", "tftt_p99 < 2s")},
		{exitFailed, "no policy \"wwr\": did you mean wrr?", short("-policy", "wwr")},
		{exitFailed, "did you mean predictive?", short("-assert", "predctive.errors < 1%")},
		{exitFailed, "no such file", []string{"simulate", "nowhere.hcl"}},
	} {
		if code, _, stderr := pointsman(nil, tc.args...); code != tc.code || !strings.Contains(stderr, tc.want) {
			t.Errorf("%q: exit %d: %s", tc.args, code, stderr)
		}
	}
}

func TestAPageThatCannotBeWrittenIsToldBeforeItIsPlayed(t *testing.T) {
	folder := t.TempDir()
	for _, page := range []string{filepath.Join(folder, "nowhere", "page.html"), folder, "/"} {
		code, stdout, stderr := pointsman(nil, short("-html", page)...)
		if code != exitFailed || stdout != "" || !strings.Contains(stderr, "error: write the page: ") || strings.Contains(stderr, "createtemp") {
			t.Errorf("%s: exit %d: %s%s", page, code, stdout, stderr)
		}
	}
	page := filepath.Join(folder, "page.html")
	if code, _, stderr := pointsman(nil, short("-html", page, "-policy", "nobody")...); code != exitFailed {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestAScenariosFindingsAreShownWithTheirPlaces(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bad.hcl")
	if err := os.WriteFile(file, []byte("title = \"x\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := pointsman(nil, "simulate", file)
	if code != exitFailed || !strings.Contains(stderr, "bad.hcl:1:1: error: ") || !strings.Contains(stderr, "in the scenario") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestAShellCompletesPoliciesAndVariables(t *testing.T) {
	file := "../../deploy/examples/scenarios/small.hcl"
	for flag, want := range map[string]string{"--policy": "prequal\n", "--var": "=\t"} {
		if _, stdout, _ := pointsman(nil, "__complete", "simulate", file, flag, ""); !strings.Contains(stdout, want) {
			t.Errorf("%s: %s", flag, stdout)
		}
	}
}
