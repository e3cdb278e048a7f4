package dev

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/route"
)

// ending is how a call ended for its caller.
type ending uint8

const (
	served ending = iota
	shed
	failed
	stopped // by the end of the run: it does not count
)

// caller is one demo application: a library behind the agent, and an ordinary HTTP
// client on top of it.
type caller struct {
	name   string
	client *clientlib.Client
	http   *http.Client
	tally  *tally
}

// open starts the library and waits for its catalog.
func open(ctx context.Context, name string, w *world, t *tally) (*caller, error) {
	c := &caller{name: name, tally: t}
	client, err := clientlib.Open(ctx, clientlib.Config{
		Parents: []string{"unix://" + w.socket()}, Name: name, Node: "dev", Locality: "eu/west", Observer: c,
		// A process maps a credential's name; here the "secret" is a fake's.
		Credentials: map[string]clientlib.Credential{"cloud": {From: "env:" + cloudKeyVariable, Hosts: []string{w.host("cloud")}}},
	})
	if err != nil {
		return nil, fmt.Errorf("caller %s: %w", name, err)
	}
	c.client = client
	c.http = &http.Client{Transport: client.Transport(clientlib.TransportConfig{})}
	return c, nil
}

// cloudKeyVariable is the environment variable that the demo keeps its fake's key in.
const cloudKeyVariable = "POINTSMAN_DEV_CLOUD_KEY"

// Attempt counts an attempt that has ended.
func (c *caller) Attempt(a clientlib.AttemptInfo) {
	c.tally.attempt(try{caller: c.name, endpoint: a.Endpoint, number: a.Number, probe: a.Probe,
		start: a.Started, ttft: a.FirstToken, failed: a.Outcome.Kind == route.Faulted || a.Outcome.Kind == route.TimedOut})
}

func (*caller) Call(clientlib.CallInfo) {}

// Event follows the caller's own breakers.
func (c *caller) Event(e clientlib.Event) {
	switch e.Kind {
	case "opened":
		c.tally.opened(e.Endpoint, c.name, e.At)
	case "closed":
		c.tally.closed(e.Endpoint, c.name, e.At)
	}
}

// chat sends one streamed chat, as any SDK would, and reads it to its end.
func (c *caller) chat(ctx context.Context, a arrival, tools bool) ending {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://pointsman.invalid/v1/chat/completions", body(a, tools))
	if err != nil {
		return failed
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return c.lost(ctx, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return c.lost(ctx, err)
	case resp.StatusCode == http.StatusOK && bytes.HasSuffix(bytes.TrimSpace(answer), []byte("data: [DONE]")):
		return served
	case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable:
		return shed
	}
	c.tally.trouble(fmt.Sprintf("%s: HTTP %d: %.200s", c.name, resp.StatusCode, answer))
	return failed
}

func (c *caller) lost(ctx context.Context, err error) ending {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return stopped
	}
	c.tally.trouble(fmt.Sprintf("%s: %v", c.name, err))
	return failed
}

// prompt holds text of four bytes a token.
var prompt = strings.Repeat("word", 16_384)

func body(a arrival, tools bool) io.Reader {
	chat := map[string]any{
		"model":                 "chat",
		"stream":                true,
		"max_completion_tokens": a.output,
		"messages":              []any{map[string]any{"role": "user", "content": prompt[:min(len(prompt), 4*int(a.input))]}},
	}
	if tools {
		chat["tools"] = []any{map[string]any{"type": "function", "function": map[string]any{"name": "clock", "parameters": map[string]any{"type": "object"}}}}
	}
	b, err := json.Marshal(chat)
	if err != nil {
		return strings.NewReader(err.Error()) // cannot happen: strings and numbers encode
	}
	return bytes.NewReader(b)
}

// watch tells the tally what the fleet's breakers say to this caller, until ctx ends.
func (c *caller) watch(ctx context.Context) {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, e := range c.client.Endpoints() {
			switch e.Fleet {
			case "open":
				c.tally.opened(e.Name, byFleet, time.Now())
			case "closed":
				c.tally.closed(e.Name, byFleet, time.Now())
			}
		}
	}
}

const byFleet = "fleet"
