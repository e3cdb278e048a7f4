package agent

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/agent/engine"
	"github.com/pointsman/pointsman/agent/hub"
	"github.com/pointsman/pointsman/agent/metrics"
)

func TestFiguresOfAnAgentThatReachedNobodyYet(t *testing.T) {
	dir := t.TempDir()
	a, err := New(Config{Parents: []string{"127.0.0.1:1"}, Socket: filepath.Join(dir, "a.sock"), Dir: filepath.Join(dir, "state"), Node: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	defer func() {
		if err := a.Run(ctx); err != nil { // it only ends what New began
			t.Error(err)
		}
	}()
	if _, err := a.relay.shelf.drains.set(drain{Endpoint: "gpu-a"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	a.witness.sight.found = scene{engines: []engine.Target{{Endpoint: "gpu-a@1"}, {Endpoint: "gpu-a@2"}}}
	want := metrics.Figures{Hub: hub.Figures{}, Node: metrics.Node{Engines: 2, Drains: 1}}
	if diff := cmp.Diff(want, a.Figures()); diff != "" {
		t.Error(diff)
	}
	if a.Ready() == nil {
		t.Error("it is ready")
	}
}
