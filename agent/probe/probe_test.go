package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pointsman/pointsman/agent/dial"
)

// try runs a prober with a dialer, for so long.
func try(connect func(context.Context, string, string) (net.Conn, error), last time.Duration, targets ...Target) *Prober {
	start := time.Now()
	p := New(Config{
		Targets: func() []Target { return targets }, Dial: connect, Now: func() int64 { return time.Since(start).Microseconds() + 1 },
	})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { p.Run(ctx) })
	time.Sleep(last)
	cancel()
	wg.Wait()
	return p
}

func TestAnAddressIsTriedEveryFifteenSecondsOrSoAndTellsOnlyWhetherItIsReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		tries := 0
		p := try(func(context.Context, string, string) (net.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			tries++
			time.Sleep(30 * time.Millisecond)
			near, far := net.Pipe()
			far.Close()
			return near, nil
		}, 151*time.Second, Target{Address: "a:80"})
		if tries < 8 || tries > 13 {
			t.Errorf("%d tries in 150 s", tries)
		}
		if r, ok := p.Result(Target{Address: "a:80"}); !ok || !r.Reached || r.Connect != 30_000 {
			t.Errorf("%+v, %v", r, ok)
		}
	})
}

func TestWhyAnAddressIsNotReachedIsAWordWithoutAddresses(t *testing.T) {
	for want, err := range map[string]error{
		"refused": &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, "no route": syscall.EHOSTUNREACH, "reset": syscall.ECONNRESET,
		"name not resolved": &net.DNSError{Name: "secret.example", IsNotFound: true}, "timeout": context.DeadlineExceeded,
		"failed": errors.New("10.0.0.7: odd"),
	} {
		synctest.Test(t, func(t *testing.T) {
			p := try(func(context.Context, string, string) (net.Conn, error) { return nil, err }, 6*time.Second, Target{Address: "a:80"})
			if r, ok := p.Result(Target{Address: "a:80"}); !ok || r.Reached || r.Reason != want {
				t.Errorf("%v: %+v, %v", err, r, ok)
			}
		})
	}
}

func TestAnAddressThatHangsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := try(func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }, 12*time.Second, Target{Address: "a:80"})
		if r, ok := p.Result(Target{Address: "a:80"}); !ok || r.Reason != "timeout" {
			t.Errorf("%+v, %v", r, ok)
		}
	})
}

// That this agent may not try says nothing of the address.
func TestAForbiddenAddressHasNoResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := try(func(context.Context, string, string) (net.Conn, error) { return nil, dial.ErrForbidden }, 6*time.Second, Target{Address: "a:80"})
		if r, ok := p.Result(Target{Address: "a:80"}); ok {
			t.Errorf("%+v", r)
		}
	})
}

// The handshake is that of a request: whom a request would not believe is not reached.
func TestAHandshakeIsMadeWhereRequestsMakeOne(t *testing.T) {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	s.Config.ErrorLog = nil
	address := s.Listener.Addr().String()
	p := New(Config{Dial: (&net.Dialer{}).DialContext, Now: func() int64 { return 1 }})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := p.connect(ctx, Target{Address: address, TLS: true}); reason(err) != "certificate" {
		t.Errorf("a certificate of nobody's: %v", err)
	}
	if err := p.connect(ctx, Target{Address: address}); err != nil {
		t.Errorf("without a handshake: %v", err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", s.TLS)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := p.connect(ctx, Target{Address: l.Addr().String(), TLS: true}); reason(err) != "refused" {
		t.Errorf("nobody there: %v", err)
	}
}
