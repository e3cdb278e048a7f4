package clientlib_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pointsman/pointsman/clientlib"
)

// bursting is an observer that panics at the end of each attempt.
type bursting struct{ *stage }

func (bursting) Attempt(clientlib.AttemptInfo) { panic(errBroken) }

// deferring is an observer that comes later than the client.
type deferring struct{ to clientlib.Observer }

func (d *deferring) Attempt(a clientlib.AttemptInfo) { d.to.Attempt(a) }
func (d *deferring) Call(c clientlib.CallInfo)       { d.to.Call(c) }
func (*deferring) Event(clientlib.Event)             {}

// An observer that panics changes nothing of what a call has come to: what broke does not
// end well for a reader that goes on, and the call ends once.
func TestAPanicOfAnObserverChangesNoEnd(t *testing.T) {
	for rule, c := range map[string]struct {
		how play
		end error
	}{
		"broken": {streams(oneEvent, errReset), errReset},
		"good":   {streams(oneEvent, doneEvent), nil},
	} {
		d := &deferring{}
		onStage(t, func(g *staging) { g.config.Observer = d }, func(s *stage) {
			d.to = bursting{s}
			s.at("a", c.how)
			resp, err := s.ask(s.t.Context(), "/chat/completions", streamed)
			if err != nil {
				s.t.Fatal(err)
			}
			read := func() (err error) {
				defer func() {
					if recover() != nil {
						err = errBroken
					}
				}()
				_, err = io.ReadAll(resp.Body)
				return err
			}
			if first := read(); !errors.Is(first, errBroken) {
				s.t.Errorf("%s: %v", rule, first)
			}
			if second := read(); !errors.Is(second, c.end) {
				s.t.Errorf("%s: then %v, want %v", rule, second, c.end)
			}
			resp.Body.Close()
			if len(s.calls()) != 1 {
				s.t.Errorf("%s: %d ends", rule, len(s.calls()))
			}
		})
	}
}

// entering asks the client for more from inside of its hooks.
type entering struct {
	*stage
	deep int
}

func (e *entering) again() {
	if e.deep > 2 {
		return
	}
	e.deep++
	defer func() { e.deep-- }()
	_, _, _ = e.chat(plain)
	if a, err := e.Workload("chat").Pick(clientlib.Request{}); err == nil {
		a.Settle(clientlib.Outcome{Kind: clientlib.Served})
	}
	e.Endpoints()
	e.Quotas()
	e.Waiting()
	e.Explain("chat", clientlib.Request{})
}

func (e *entering) Attempt(clientlib.AttemptInfo) { e.again() }
func (e *entering) Call(clientlib.CallInfo)       { e.again() }

// Hooks may use the client that calls them: no lock is held then.
func TestHooksMayEnterTheClient(t *testing.T) {
	d := &deferring{}
	var e *entering
	onStage(t, func(g *staging) {
		g.config.Observer = d
		g.catalog.Endpoints[0].Credential = "key"
		g.config.Credentials = map[string]clientlib.Credential{"key": {Source: func(context.Context) (string, error) {
			e.Endpoints()
			return "sk-abcdefghijklmnop", nil
		}, Hosts: []string{"a.test"}}}
		g.config.CountTokens = func(string, []byte) int64 {
			e.Explain("chat", clientlib.Request{})
			return 1
		}
		g.transport.Validate = func(context.Context, clientlib.Answer) error {
			if e.deep < 2 {
				e.again()
			}
			return nil
		}
	}, func(s *stage) {
		e = &entering{stage: s}
		d.to = e
		done := make(chan bool)
		go func() {
			defer close(done)
			for _, body := range []string{plain, streamed} {
				if _, _, err := s.chat(body); err != nil {
					s.t.Error(err)
				}
			}
		}()
		select {
		case <-done:
		case <-time.After(time.Minute):
			s.t.Error("it waits for itself")
		}
	})
}

// Whenever a caller gives up, its call ends then, once, and nothing of it is left.
func TestACancelAtAnyMoment(t *testing.T) {
	slow := func(parts ...any) play {
		return func(s *stage, r *http.Request) (*http.Response, error) {
			select {
			case <-time.After(3 * time.Millisecond):
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
			return streams(parts...)(s, r)
		}
	}
	const step = time.Millisecond
	for after := range 24 {
		for _, body := range []string{plain, streamed} {
			onStage(t, func(g *staging) {
				g.catalog.Endpoints[0].Credential = "key"
				g.config.Credentials = map[string]clientlib.Credential{"key": {Source: func(ctx context.Context) (string, error) {
					time.Sleep(2 * step)
					return "sk-abcdefghijklmnop", ctx.Err()
				}, Hosts: []string{"a.test"}}}
				g.catalog.Workloads[0].Attempts.Max = 3
			}, func(s *stage) {
				s.at("a", slow(3*step, roleEvent, 2*step, errReset))
				s.at("b", slow(2*step, roleEvent, 3*step, oneEvent, 3*step, twoEvent, 2*step, stopEvent, usageEvent, doneEvent))
				ctx, cancel := context.WithTimeout(s.t.Context(), time.Duration(after)*step+step/2)
				defer cancel()
				began := time.Now()
				resp, err := s.ask(ctx, "/chat/completions", body)
				if err == nil {
					_, err = io.ReadAll(resp.Body)
					resp.Body.Close()
				}
				if took := time.Since(began); took > time.Duration(after)*step+3*step {
					s.t.Errorf("after %d: %v", after, took)
				}
				synctest.Wait()
				s.nothingIsLeft()
				if calls := s.calls(); len(calls) != 1 || (err == nil) != (calls[0].Err == nil) && resp.StatusCode == 200 {
					s.t.Errorf("after %d: %v, %+v", after, err, calls)
				}
			})
		}
	}
}
