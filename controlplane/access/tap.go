package access

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/pointsman/pointsman/agent/health"
)

const (
	recheck          = 30 * time.Second // of streams: control-plane.md, who may do what
	handshakeWithin  = 10 * time.Second
	maxHeaders       = 32 << 10 // bytes of a call's headers
	defaultNamespace = "default"
	syncMethod       = service + "SyncService/Sync" // whose streams the hub asks again for
)

// Options put the guard before all methods of a server.
func (g *Guard) Options() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.InTapHandle(g.tap), // before a byte of a message is read
		grpc.ChainUnaryInterceptor(g.unary), grpc.ChainStreamInterceptor(g.stream),
		grpc.ConnectionTimeout(handshakeWithin), grpc.MaxHeaderListSize(maxHeaders),
	}
}

// tap lets a call in by its headers. It must not block: the connection waits for it.
func (g *Guard) tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	if info.FullMethodName == health.Check {
		return context.WithValue(ctx, callerKey{}, Caller{}), nil
	}
	c, err := g.admit(ctx, info.Header, info.FullMethodName)
	if err != nil {
		return ctx, err
	}
	return context.WithValue(ctx, callerKey{}, c), nil
}

func (g *Guard) admit(ctx context.Context, md metadata.MD, method string) (Caller, error) {
	c, err := g.caller(ctx, md)
	if err == nil {
		err = allow(c, method)
	}
	if err != nil {
		g.denied.add(c.Identity, method, err)
	}
	return c, err
}

// scoped are requests that name a namespace.
type scoped interface{ GetNamespace() string }

// here refuses what is not of this replica's namespace: a token is good in one.
func (g *Guard) here(ctx context.Context, method string, m any) error {
	in, ok := m.(scoped)
	if !ok {
		return nil
	}
	ns := in.GetNamespace()
	if ns == "" {
		ns = defaultNamespace
	}
	if ns == g.config.Namespace {
		return nil
	}
	err := status.Errorf(codes.PermissionDenied, "namespace %.64q is not served here, %q is: ask a replica of it, with a token made there", ns, g.config.Namespace)
	g.denied.add(From(ctx).Identity, method, err)
	return err
}

var errUntapped = status.Error(codes.Internal, "bug: a call that nobody let in")

func tapped(ctx context.Context) bool { return ctx.Value(callerKey{}) != nil }

func (g *Guard) unary(ctx context.Context, m any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if !tapped(ctx) {
		return nil, errUntapped
	}
	if err := g.here(ctx, info.FullMethod, m); err != nil {
		return nil, err
	}
	return next(ctx, m)
}

// stream asks again each 30 s whether a stream may go on.
func (g *Guard) stream(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if !tapped(s.Context()) {
		return errUntapped
	}
	if info.FullMethod == syncMethod {
		return next(srv, s)
	}
	ctx, cancel := context.WithCancelCause(s.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.watch(ctx, info.FullMethod, cancel)
	}()
	w := &watched{ServerStream: s, ctx: ctx, check: func(m any) error { return g.here(ctx, info.FullMethod, m) }}
	err := next(srv, w)
	if lost := w.lost(); lost != nil {
		err = lost
	}
	cancel(nil)
	<-ended
	return err
}

// watch ends ctx when its caller may not call the method any more.
func (g *Guard) watch(ctx context.Context, method string, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(recheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		md, _ := metadata.FromIncomingContext(ctx)
		if _, err := g.admit(ctx, md, method); lostRight(err) {
			cancel(err)
			return
		}
	}
}

func lostRight(err error) bool {
	code := status.Code(err)
	return code == codes.PermissionDenied || code == codes.Unauthenticated
}

// watched is a stream that ends when its caller's right does.
type watched struct {
	grpc.ServerStream
	ctx   context.Context //nolint:containedctx // a stream has one
	check func(any) error
}

// Context ends with the right.
func (w *watched) Context() context.Context { return w.ctx }

// lost is why the right is gone; nil: it is not.
func (w *watched) lost() error {
	if cause := context.Cause(w.ctx); lostRight(cause) {
		return cause
	}
	return nil
}

// RecvMsg takes messages of this namespace only.
func (w *watched) RecvMsg(m any) error {
	if err := w.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	return w.check(m)
}

// SendMsg sends nothing once the right is gone.
func (w *watched) SendMsg(m any) error {
	if err := w.lost(); err != nil {
		return err
	}
	return w.ServerStream.SendMsg(m)
}
