package clientlib_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/clientlib"
)

// readerFunc is a body that cannot be closed.
type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A body that never comes is waited for no longer than its caller does, whatever closing it does.
func TestABodyThatDoesNotComeHoldsNobody(t *testing.T) {
	onStage(t, nil, func(s *stage) {
		coming := make(chan bool)
		defer close(coming)
		for rule, body := range map[string]readerFunc{
			"it blocks":         func([]byte) (int, error) { <-coming; return 0, io.EOF },
			"it gives nothing":  func([]byte) (int, error) { return 0, nil },
			"it fails":          func([]byte) (int, error) { return 0, errReset },
			"it fails when cut": func(p []byte) (int, error) { return copy(p, plain), io.ErrUnexpectedEOF },
		} {
			ctx, cancel := context.WithTimeout(s.t.Context(), time.Second)
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.invalid/v1/chat/completions", body)
			if err != nil {
				s.t.Fatal(err)
			}
			began := time.Now()
			resp, err := s.http.Do(r)
			if took := time.Since(began); took > time.Second || err == nil && resp.StatusCode != 400 || err != nil && !errors.Is(err, context.DeadlineExceeded) {
				s.t.Errorf("%s: %v %v after %v", rule, resp, err, took)
			}
			if err == nil {
				resp.Body.Close()
			}
			cancel()
		}
		s.decided()
	})
}

func TestAPanicOfABodyIsItsCallers(t *testing.T) {
	onStage(t, nil, func(s *stage) {
		defer func() {
			if p := recover(); p != "its own" {
				s.t.Errorf("recovered %v", p)
			}
		}()
		r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, "https://api.invalid/v1/chat/completions", readerFunc(func([]byte) (int, error) { panic("its own") }))
		if err != nil {
			s.t.Fatal(err)
		}
		resp, err := s.http.Do(r)
		s.t.Errorf("%v %v", resp, err)
	})
}

func TestABodyIsAsLongAsItIs(t *testing.T) {
	for _, length := range []int64{-1, 0, 3, int64(len(plain)), 300, 16 << 20} {
		onStage(t, nil, func(s *stage) {
			r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, "https://api.invalid/v1/chat/completions", io.MultiReader(strings.NewReader(plain)))
			if err != nil {
				s.t.Fatal(err)
			}
			r.ContentLength = length
			if _, _, err := s.read(s.http.Do(r)); err != nil || !bytes.Contains([]byte(s.got["a"][0].body), []byte(`"hi"`)) {
				s.t.Errorf("%d: %v %v", length, s.got, err)
			}
		})
	}
}

// Whoever gives up while a credential is read has asked nobody for anything: nothing is
// charged, and no endpoint was slow.
func TestACancelWhileACredentialIsReadChargesNothing(t *testing.T) {
	onStage(t, func(g *staging) {
		g.catalog.Endpoints[0].Credential = "key"
		g.config.Credentials = map[string]clientlib.Credential{"key": {
			Source: func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }, Hosts: []string{"a.test"},
		}}
	}, func(s *stage) {
		ctx, cancel := context.WithTimeout(s.t.Context(), time.Second)
		defer cancel()
		if resp, err := s.ask(ctx, "/chat/completions", plain); !errors.Is(err, context.DeadlineExceeded) {
			s.t.Errorf("%v %v", resp, err)
		}
		s.decided("a unsent")
		if calls := s.calls(); len(calls) != 1 || calls[0].End() != "cancelled" || !errors.Is(calls[0].Err, context.DeadlineExceeded) {
			s.t.Errorf("%+v", calls)
		}
	})
}
