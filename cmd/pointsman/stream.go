package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/controlplane/rpc"
)

const (
	againAfter = time.Second // after a stream that was to go on ended
	againMost  = 10 * time.Second
)

// warn says what an answer lacks, if the control plane said so.
func (e *env) warn(header metadata.MD) {
	for _, lack := range header.Get(rpc.WarningKey) {
		fmt.Fprintf(e.stderr, "warning: %s\n", oneLine(lack))
	}
}

// streaming is a call that streams its answers, and how they are taken.
type streaming[A any] struct {
	open   func(context.Context, services) (grpc.ServerStreamingClient[A], error)
	follow bool           // it has no end
	begun  func()         // it was opened; nil: nobody wants to know
	each   func(*A) error // one answer
}

// stream asks the control plane something that has many answers.
func stream[A any](ctx context.Context, e *env, take streaming[A]) error {
	reached, err := streamOnce(ctx, e, take)
	return e.streamed(err, reached)
}

func (e *env) streamed(err error, reached bool) error {
	if _, ours := status.FromError(err); err == nil || !ours {
		return err
	}
	return e.remote(err, reached)
}

// streamOnce waits for each answer within the timeout, unless the stream follows: that goes on until it
// is interrupted, which is no failure. Its error is the control plane's own, if that was reached at all.
func streamOnce[A any](ctx context.Context, e *env, take streaming[A]) (reached bool, err error) {
	conn, err := e.dial(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	var answers grpc.ServerStreamingClient[A]
	err = waits(e.timeout, cancel, func() (err error) {
		if answers, err = take.open(asking, servicesOf(conn)); err != nil {
			return err
		}
		header, err := answers.Header()
		reached = len(header) > 0
		return err
	})
	if reached && take.begun != nil {
		take.begun()
	}
	within := e.timeout
	if take.follow {
		within = forever
	}
	for err == nil {
		var a *A
		if err = waits(within, cancel, func() (err error) { a, err = answers.Recv(); return err }); err == nil {
			err = take.each(a)
		}
	}
	if errors.Is(err, io.EOF) || take.follow && ctx.Err() != nil {
		return reached, nil
	}
	return reached, err
}

// again follows anew while the control plane went away, once it had come. lost is told of each time.
func (e *env) again(ctx context.Context, lost func(error, time.Duration), follow func() (reached bool, err error)) error {
	pause, ever := againAfter, false
	for {
		reached, err := follow()
		if reached {
			ever, pause = true, againAfter
		}
		failure := e.streamed(err, reached)
		if !ever || status.Code(err) != codes.Unavailable {
			return failure
		}
		if lost(failure, pause); !sleeps(ctx, pause) {
			return nil
		}
		pause = min(2*pause, againMost)
	}
}

// away says that a stream will be tried again.
func (e *env) away(err error, pause time.Duration) {
	fmt.Fprintf(e.stderr, "%v; trying again in %v\n", err, pause)
}

// liner prints what comes one by one: as JSON to programs, below a heading to people.
type liner struct {
	env     *env
	heading string
	printed int
}

func (l *liner) print(m proto.Message, line string) error {
	l.printed++
	if l.env.json {
		data, err := protoJSON(m)
		if err != nil {
			return err
		}
		return l.env.printLine(data)
	}
	if l.printed == 1 {
		fmt.Fprintln(l.env.stdout, l.heading)
	}
	_, err := fmt.Fprintln(l.env.stdout, line)
	return err
}

// sleeps says false when ctx ended it.
func sleeps(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
