package main

import (
	"bytes"
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// A stream that follows has no timeout, and its interruption is no failure.
func TestAStreamThatFollowsEndsWhenItIsInterrupted(t *testing.T) {
	ctx, interrupt := context.WithTimeout(t.Context(), 5*time.Second) // a stream that ends by itself fails below
	defer interrupt()
	e := &env{agent: serveAgent(t, history()...), timeout: time.Nanosecond}
	seen := 0
	err := e.records(ctx, &pb.ListRecordsRequest{Follow: true}, func(*pb.Record) error {
		if seen++; seen == len(history()) {
			interrupt()
		}
		return nil
	})
	if err != nil || seen != len(history()) {
		t.Errorf("%d records, %v", seen, err)
	}
}

// The timeout is of one answer: a pager that nobody pages is not waited for.
func TestASlowTerminalIsNoTimeout(t *testing.T) {
	e := &env{agent: serveAgent(t, history()...), timeout: 200 * time.Millisecond}
	seen := 0
	err := e.records(t.Context(), &pb.ListRecordsRequest{}, func(*pb.Record) error {
		if seen++; seen == 1 {
			<-time.After(2 * e.timeout)
		}
		return nil
	})
	if err != nil || seen != len(history()) {
		t.Errorf("%d records, %v", seen, err)
	}
}

func TestAnAgentThatDoesNotAnswerIsATimeout(t *testing.T) {
	silent, err := net.Listen("unix", filepath.Join(t.TempDir(), "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	code, _, stderr := pointsman(nil, "decision", "tail", "-timeout", "50ms", "-agent", "unix://"+silent.Addr().String())
	if code != 1 || !strings.Contains(stderr, "within 50ms") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// What a leaf wrote reaches no terminal as it is, not by completion or as JSON either.
func TestNoControlsReachATerminal(t *testing.T) {
	record := &pb.Record{What: &pb.Record_Attempt{Attempt: &pb.Attempt{Workload: "a\x1b[2J\tb\u009bc", Endpoint: "e\r"}}}
	environ := []string{"POINTSMAN_AGENT=" + serveAgent(t, record)}
	_, stdout, _ := pointsman(environ, "__complete", "decision", "show", "")
	if diff := cmp.Diff("1\ta [2J b c e\n:4\n", stdout); diff != "" {
		t.Error(diff)
	}
	for _, verb := range []string{"tail", "show 1", "replay 1"} {
		for _, flags := range []string{"", " -json"} {
			_, stdout, stderr := pointsman(environ, append([]string{"decision"}, strings.Fields(verb+flags)...)...)
			if strings.ContainsAny(stdout+stderr, "\x1b\u009b\r") || verb == "tail" && flags != "" && !strings.Contains(stdout, `\u009b`) {
				t.Errorf("%s%s: %q", verb, flags, stdout+stderr)
			}
		}
	}
}

func TestWhatWasMissedIsSaid(t *testing.T) {
	var stderr bytes.Buffer
	e := &env{stderr: &stderr}
	if err := e.each(&pb.ListRecordsResponse{Missed: 12}, nil); err != nil || stderr.String() != "12 records overwritten or spoiled before they could be read\n" {
		t.Errorf("%v, %q", err, &stderr)
	}
}

func TestAnAgentThatIsNoneSaysWhatToDo(t *testing.T) {
	for name, c := range map[string]struct{ addr, want string }{
		"nobody":          {"unix://" + filepath.Join(t.TempDir(), "none"), "cannot reach the agent at unix://"},
		"a control plane": {serve(t, newWorld()), "keeps no records\nset POINTSMAN_AGENT or -agent\n"},
	} {
		code, stdout, stderr := pointsman(nil, "decision", "tail", "-agent", c.addr)
		if code != 1 || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit %d: %s", name, code, stderr)
		}
	}
}

func TestTheShellCompletesRecords(t *testing.T) {
	environ := []string{"POINTSMAN_AGENT=" + serveAgent(t, history()[:4]...)}
	for args, want := range map[string]string{
		"decision show ":                   "1\tchat gpu-a faulted\n3\tchat gpu-b served\n4\tchat shed\n:4\n",
		"decision show 1 ":                 ":4\n",
		"decision replay ":                 "1\tchat gpu-a faulted\n3\tchat gpu-b served\n4\tchat shed\n:4\n",
		"event list --agent local --kind ": "source\n", // and others
		"event list --kind ":               "opened\n", // and others
	} {
		_, stdout, _ := pointsman(environ, append([]string{"__complete"}, strings.Split(args, " ")...)...)
		if diff := cmp.Diff(want, stdout[:min(len(want), len(stdout))]); diff != "" {
			t.Errorf("%s: %s", args, diff)
		}
	}
}
