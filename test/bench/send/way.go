package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
)

// form is how an answer comes.
type form int

const (
	whole form = iota
	streamed
)

func (f form) String() string { return [...]string{"whole", "streamed"}[f] }

// bodies are what is sent, about a page of prompt.
var bodies = [...][]byte{whole: body(``), streamed: body(`"stream":true,`)}

func body(more string) []byte {
	prompt := strings.Repeat("The ferry leaves at nine from pier four. ", 25)
	return []byte(`{"model":"chat",` + more + `"max_tokens":100,"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"` + prompt + `"}]}`)
}

// way is one of the two that are compared.
type way struct {
	name   string
	client *http.Client
	url    string
	length [2]atomic.Int64 // of the first answer of each form: every other has it too
}

// pair is both of them, at the same endpoint.
type pair struct {
	ways  [2]*way // bare, routed
	close func()
}

// newPair has both speak to base; through sender if it is not nil.
func newPair(base string, sender http.RoundTripper) (*pair, error) {
	config := clientlib.Config{HTTP: sender, Catalog: clienttest.Pool("chat",
		&clienttest.Endpoint{Name: "a", URL: base}, &clienttest.Endpoint{Name: "b", URL: base}, &clienttest.Endpoint{Name: "c", URL: base})}
	client, err := clientlib.Open(context.Background(), config)
	if err != nil {
		return nil, err
	}
	p := &pair{close: func() { client.Close() }}
	if sender == nil {
		own := &http.Transport{MaxIdleConnsPerHost: 64, MaxConnsPerHost: 512}
		p.close = func() { client.Close(); own.CloseIdleConnections() }
		sender = own
	}
	p.ways[0] = &way{name: "bare", url: base + "/chat/completions", client: &http.Client{Transport: sender}}
	p.ways[1] = &way{name: "routed", url: "https://api.invalid/v1/chat/completions", client: &http.Client{Transport: client.Transport(clientlib.TransportConfig{})}}
	return p, nil
}

// patience is how long a request may take, the same both ways.
const patience = 30 * time.Second

// send makes a request and reads its answer; first is when the answer's first bytes had come.
func (w *way) send(f form) (first time.Time, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(bodies[f]))
	if err != nil {
		return first, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer callers-own")
	answer, err := w.client.Do(r)
	if err != nil {
		return first, err
	}
	defer answer.Body.Close()
	var buffer [4096]byte
	n, err := answer.Body.Read(buffer[:])
	first = time.Now()
	length := int64(n)
	for err == nil {
		n, err = answer.Body.Read(buffer[:])
		length += int64(n)
	}
	if !errors.Is(err, io.EOF) {
		return first, err
	}
	return first, w.check(f, answer.StatusCode, length)
}

func (w *way) check(f form, status int, length int64) error {
	w.length[f].CompareAndSwap(0, length)
	if want := w.length[f].Load(); status != http.StatusOK || length != want || length == 0 {
		return fmt.Errorf("%s, %v: status %d, %d bytes, want 200 and %d", w.name, f, status, length, want)
	}
	return nil
}
