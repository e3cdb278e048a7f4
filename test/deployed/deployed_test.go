package deployed

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const deploy = "../../deploy"

func read(t *testing.T, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The programs hold these against their flags: cmd/pointsman-agent, cmd/pointsman-controlplane.
func TestEveryWayToRunAProgramIsFound(t *testing.T) {
	all, err := Commands(deploy)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range all {
		got = append(got, c.Where+" "+c.Program)
	}
	slices.Sort(got)
	want := []string{
		"container/Containerfile pointsman", "container/Containerfile pointsman-agent", "container/Containerfile pointsman-agent",
		"container/Containerfile pointsman-controlplane", "container/Containerfile pointsman-controlplane",
		"kubernetes/agent.yaml pointsman-agent", "kubernetes/controlplane.yaml pointsman-controlplane",
		"systemd/pointsman-agent.service pointsman-agent", "systemd/pointsman-controlplane.service pointsman-controlplane",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// systemd itself reads the units, where it is: with a program in the place of ours, which is not installed.
func TestUnitsAreUnderstoodAndShutIn(t *testing.T) {
	units, err := filepath.Glob(filepath.Join(deploy, "systemd", "*.service"))
	if err != nil || len(units) != 2 {
		t.Fatalf("%d units, error %v", len(units), err)
	}
	analyze, missing := exec.LookPath("systemd-analyze")
	for _, unit := range units {
		text := read(t, unit)
		for _, want := range []string{"NoNewPrivileges=yes", "ProtectSystem=strict", "StateDirectory=pointsman/", "RuntimeDirectory=pointsman", "Restart=always", "LimitNOFILE=", "User=pointsman"} {
			if !strings.Contains(text, "\n"+want) {
				t.Errorf("%s: no %s", unit, want)
			}
		}
		if !strings.Contains(read(t, deploy, "systemd", "pointsman.sysusers"), "u "+setting(text, "User")+" ") {
			t.Errorf("%s: nobody makes its user", unit)
		}
		if missing != nil {
			continue
		}
		program := strings.Fields(setting(text, "ExecStart"))[0]
		copied := filepath.Join(t.TempDir(), filepath.Base(unit))
		if err := os.WriteFile(copied, []byte(strings.ReplaceAll(text, program, "/bin/sh")), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(analyze, "verify", copied).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", unit, err, out)
		}
		if out, err := exec.Command(analyze, "security", "--no-pager", "--offline=true", "--threshold=20", copied).CombinedOutput(); err != nil {
			t.Errorf("%s is not shut in: %v\n%s", unit, err, out)
		}
	}
}

func TestTheImageHasAllProgramsAndNothingElse(t *testing.T) {
	text := read(t, deploy, "container", "Containerfile")
	build := regexp.MustCompile(`\./cmd/[a-z-]+`).FindAllString(text, -1)
	if diff := cmp.Diff([]string{"./cmd/pointsman", "./cmd/pointsman-agent", "./cmd/pointsman-controlplane"}, build); diff != "" {
		t.Errorf("it builds: %s", diff)
	}
	for _, p := range build {
		if _, err := os.Stat(filepath.Join("../..", p, "main.go")); err != nil {
			t.Error(err)
		}
	}
	if !strings.Contains(text, "-X github.com/pointsman/pointsman/cmd/daemon.release=") || !strings.Contains(read(t, "../../cmd/daemon/version.go"), "\nvar release string") {
		t.Error("the release is not told to the programs")
	}
	bases := regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(text, -1)
	for _, b := range bases {
		name, tag, pinned := strings.Cut(b[1], ":")
		ours := slices.Contains([]string{"scratch", "all"}, name)
		if !ours && (!pinned || tag == "latest") {
			t.Errorf("base %s has no tag", b[1])
		}
	}
	if !regexp.MustCompile(`(?m)^USER [1-9]\d*:[1-9]\d*$`).MatchString(text) {
		t.Error("its user is no number that kubelets can tell from root")
	}
	need := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "../../go.mod"))[1]
	if !strings.Contains(text, "golang:"+need+".") {
		t.Errorf("it is not built with Go %s, which go.mod wants", need)
	}
	if last := bases[len(bases)-1][1]; last != "all" {
		t.Errorf("without a target it is %s: it is to have all programs and no entry", last)
	}
}
