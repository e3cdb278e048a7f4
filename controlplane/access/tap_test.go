package access

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/tap"

	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// endless is a stream that its client never closes.
type endless struct {
	grpc.ServerStream
	ctx  context.Context
	sent int
}

func (e *endless) Context() context.Context { return e.ctx }
func (e *endless) SendMsg(any) error        { e.sent++; return nil }
func (e *endless) RecvMsg(any) error        { return nil }

func TestALiveStreamEndsWithin30SecondsOfItsRight(t *testing.T) {
	for name, take := range map[string]func(*world, string){
		"revoked":      func(w *world, _ string) { w.revoke("token/ci") },
		"its id":       func(w *world, id string) { w.revoke(id) },
		"taken away":   func(w *world, id string) { w.store.change(func(a *store.Access) { delete(a.Tokens, id) }) },
		"another role": func(w *world, _ string) { w.role("token/ci", Client, "") },
		"expired":      func(*world, string) { time.Sleep(time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				id, secret := w.token(t, "ci", Reader, time.Minute)
				ctx := bearing(as("", elsewhere), secret)
				md, _ := metadata.FromIncomingContext(ctx)
				method := service + "FleetService/WatchBreakers"
				ctx, err := w.tap(ctx, &tap.Info{FullMethodName: method, Header: md})
				if err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() {
					ended <- w.stream(nil, &endless{ctx: ctx}, &grpc.StreamServerInfo{FullMethod: method}, func(_ any, s grpc.ServerStream) error {
						<-s.Context().Done()
						return s.Context().Err()
					})
				}()
				time.Sleep(45 * time.Second)
				synctest.Wait()
				if len(ended) > 0 {
					t.Fatalf("it ended while it might go on: %v", <-ended)
				}
				take(w, id)
				time.Sleep(30*time.Second + time.Millisecond)
				synctest.Wait()
				select {
				case err := <-ended:
					if !lostRight(err) {
						t.Errorf("it ended by %v", err)
					}
				default:
					t.Fatal("it goes on")
				}
			})
		})
	}
}

func TestAStreamOutlivesAnythingButItsRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.role("cn/x", Reader, "")
		ctx, cancel := context.WithCancel(context.WithValue(as("x", elsewhere), callerKey{}, Caller{Identity: "cn/x"}))
		ended := make(chan error, 1)
		go func() {
			ended <- w.stream(nil, &endless{ctx: ctx}, &grpc.StreamServerInfo{FullMethod: service + "FleetService/WatchBreakers"}, func(_ any, s grpc.ServerStream) error {
				<-s.Context().Done()
				return s.Context().Err()
			})
		}()
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		if len(ended) > 0 {
			t.Fatalf("it ended: %v", <-ended)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended by %v", err)
		}
	})
}

func TestACallThatNobodyLetInIsRefused(t *testing.T) {
	w := newWorld()
	_, err := w.unary(t.Context(), &pb.PlanRequest{}, &grpc.UnaryServerInfo{}, func(context.Context, any) (any, error) { return nil, nil })
	want(t, err, codes.Internal)
	err = w.stream(nil, &endless{ctx: t.Context()}, &grpc.StreamServerInfo{}, func(any, grpc.ServerStream) error { return nil })
	want(t, err, codes.Internal)
}

func TestWhoIsTurnedAwayIsLoggedOnceASecondAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		synctest.Wait()
		for range 1000 {
			_, err := w.call(bearing(as("", elsewhere), "pmt_guess"), "CatalogService/Publish")
			want(t, err, codes.Unauthenticated)
			w.Failed("198.51.100.1", errors.New("tls: no certificate"))
		}
		_, err := w.call(as("mallory", elsewhere), "CatalogService/Publish")
		want(t, err, codes.PermissionDenied)
		time.Sleep(3*time.Second + time.Millisecond)
		synctest.Wait()
		got := w.log.all()
		if len(got) != 1 || !strings.Contains(got[0], "calls=1001") || !strings.Contains(got[0], "connections=1000") ||
			!strings.Contains(got[0], "cn/mallory") || !strings.Contains(got[0], "CatalogService/Publish") {
			t.Errorf("logged %q", got)
		}
		if strings.Contains(fmt.Sprint(got), "pmt_") {
			t.Error("a token is in the log")
		}
		if diff := cmp.Diff(turned{Unauthenticated: 1000, Denied: 1, Handshakes: 1000}, w.denied.figures); diff != "" {
			t.Error(diff)
		}
		cancel()
		<-done
	})
}
