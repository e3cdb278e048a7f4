package rpc

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	maxStreams = 64                     // that watch or follow, on one replica
	lookAgain  = time.Second            // at what changes without a sign
	lookPace   = 100 * time.Millisecond // between two looks
)

// streams are places for those who watch and follow.
type streams chan struct{}

// enter takes a place; leave gives it back.
func (s streams) enter() (leave func(), err error) {
	select {
	case s <- struct{}{}:
		return func() { <-s }, nil
	default:
		return nil, status.Errorf(codes.ResourceExhausted, "%d streams watch or follow here already: end one of them", cap(s))
	}
}

// pause waits for a change, at least the pace and at most until it is time to look again. It says
// false when the caller is gone, or this replica stops.
func (c *Config) pause(ctx context.Context, changed <-chan struct{}, again time.Duration) bool {
	for _, wait := range []struct {
		sign <-chan struct{}
		most time.Duration
	}{{nil, lookPace}, {changed, again - lookPace}} {
		t := time.NewTimer(wait.most)
		select {
		case <-t.C:
		case <-wait.sign:
			t.Stop()
		case <-ctx.Done():
			t.Stop()
			return false
		case <-c.Stopping:
			t.Stop()
			return false
		}
	}
	return true
}

// ended is what a stream ends with that did not end by itself.
func (c *Config) ended(ctx context.Context) error {
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	return status.Error(codes.Unavailable, "this replica stops: ask another one")
}

// changed is closed at the next change of what is served; nil: look now and then.
func (c *Config) changed() <-chan struct{} {
	if c.Changed == nil {
		return nil
	}
	return c.Changed()
}
