package decide

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/route"
)

const soon = time.Second // when nobody knows better

// failure is why a call has no attempt, as a program in any language understands it.
func (k *call) failure() error {
	var shed *clientlib.ShedError
	var end *clientlib.EndError
	err := k.err
	if errors.As(err, &end) && end.Shed != nil {
		shed = end.Shed
	} else {
		errors.As(err, &shed)
	}
	switch {
	case shed != nil:
		return k.shed(shed)
	case err == nil:
		return status.Error(codes.FailedPrecondition, "the call is over: its attempt was served")
	case errors.Is(err, clientlib.ErrUnknownWorkload):
		return status.Error(codes.NotFound, err.Error())
	case errors.Is(err, clientlib.ErrUnusable):
		return status.Error(codes.FailedPrecondition, err.Error())
	case errors.Is(err, clientlib.ErrRequest):
		return status.Error(codes.InvalidArgument, err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return status.Error(codes.DeadlineExceeded, err.Error())
	case errors.Is(err, context.Canceled), errors.Is(err, errForgotten):
		return status.Error(codes.Aborted, "the call was given up")
	}
	return status.Error(codes.Aborted, err.Error()) // no further attempt
}

// shed says when to come back, where coming back may help.
func (k *call) shed(s *clientlib.ShedError) error {
	wait, known := k.core.client.RetryIn(s)
	switch {
	case s.Kind == route.ShedTenant:
		return status.Error(codes.PermissionDenied, s.Error())
	case s.Kind == route.ShedIncompatible && !known:
		return status.Error(codes.FailedPrecondition, s.Error())
	case !known:
		wait = soon
	}
	code := codes.ResourceExhausted
	if s.Kind == route.ShedOpen || s.Kind == route.ShedIncompatible {
		code = codes.Unavailable
	}
	return retry(code, wait, s.Error())
}

func busy(format string, args ...any) error {
	return retry(codes.ResourceExhausted, soon, fmt.Sprintf(format, args...))
}

func retry(code codes.Code, wait time.Duration, text string) error {
	plain := status.New(code, text)
	with, err := plain.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(wait)})
	if err != nil {
		return plain.Err()
	}
	return with.Err()
}
