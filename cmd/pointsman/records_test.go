package main

import (
	"bytes"
	"context"
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
	e := &env{agent: serveRecords(t, history()...), timeout: time.Nanosecond}
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

func TestWhatWasMissedIsSaid(t *testing.T) {
	var stderr bytes.Buffer
	e := &env{stderr: &stderr}
	if err := e.each(&pb.ListRecordsResponse{Missed: 12}, nil); err != nil || stderr.String() != "12 records overwritten before they could be read\n" {
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
	environ := []string{"POINTSMAN_AGENT=" + serveRecords(t, history()[:4]...)}
	for args, want := range map[string]string{
		"decision show ":     "1\tchat gpu-a faulted\n3\tchat gpu-b served\n4\tchat  shed\n:4\n",
		"decision show 1 ":   ":4\n",
		"decision replay ":   "1\tchat gpu-a faulted\n3\tchat gpu-b served\n4\tchat  shed\n:4\n",
		"event list --kind ": "source\n", // and others
	} {
		_, stdout, _ := pointsman(environ, append([]string{"__complete"}, strings.Split(args, " ")...)...)
		if diff := cmp.Diff(want, stdout[:min(len(want), len(stdout))]); diff != "" {
			t.Errorf("%s: %s", args, diff)
		}
	}
}
