package intruders

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	allowed "github.com/pointsman/pointsman/agent/dial"
	"github.com/pointsman/pointsman/agent/engine"
)

// reads has a reader of metrics look at an address, and waits for what it says.
func reads(t *testing.T, entries []string, url string) error {
	t.Helper()
	hosts, err := allowed.Parse(entries)
	if err != nil {
		t.Fatal(err)
	}
	begun, said := time.Now(), make(chan error, 100)
	r := engine.New(engine.Config{
		Targets: func() []engine.Target { return []engine.Target{{Endpoint: "a", Identity: 1, URL: url, Server: "vllm"}} },
		Dial:    hosts.Dial, Now: func() int64 { return time.Since(begun).Microseconds() + 1 },
		Observe: func(_ engine.Target, err error) { said <- err },
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	defer func() { cancel(); <-done }()
	for timeout := time.After(patience); ; {
		select {
		case err := <-said:
			return err
		case <-timeout:
			t.Fatal("nothing was said")
		case <-time.After(10 * time.Millisecond):
			if len(r.Loads()) > 0 {
				return nil
			}
		}
	}
}

// A catalog, so whoever may publish, names where metrics are: that must open no way to what only an
// agent's host can reach.
func TestMetricsAreReadFromNoForbiddenHost(t *testing.T) {
	var hits atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		fmt.Fprint(w, "vllm:num_requests_running{model_name=\"m\"} 1\n")
	}))
	defer inside.Close()
	lure := httptest.NewServer(http.RedirectHandler(inside.URL+"/metrics", http.StatusFound))
	defer lure.Close()
	host := func(s *httptest.Server) string { return strings.TrimPrefix(s.URL, "http://") }

	for name, c := range map[string]struct {
		entries []string
		url     string
	}{
		"this host":                 {nil, inside.URL + "/metrics"},
		"this host, by a name":      {nil, strings.Replace(inside.URL, "127.0.0.1", "localhost", 1) + "/metrics"},
		"where clouds keep secrets": {nil, "http://169.254.169.254/latest/meta-data/"},
		"one that is not named":     {[]string{host(lure)}, inside.URL + "/metrics"},
		"nobody at all":             {[]string{allowed.None}, inside.URL + "/metrics"},
	} {
		if err := reads(t, c.entries, c.url); !errors.Is(err, allowed.ErrForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := reads(t, []string{host(lure)}, lure.URL+"/metrics"); err == nil {
		t.Error("a redirect was followed, or taken for metrics")
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("%d requests came in", n)
	}
	if err := reads(t, []string{host(inside)}, inside.URL+"/metrics"); err != nil || hits.Load() == 0 {
		t.Errorf("the one that is allowed: %v, %d requests", err, hits.Load())
	}
}
