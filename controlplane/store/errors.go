package store

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What callers branch on, with errors.Is.
var (
	// ErrUnavailable: etcd did not answer in time. A write may have happened all the same.
	ErrUnavailable = errors.New("etcd is out of reach")
	// ErrNotFound: there is no such revision, tag, pin or override.
	ErrNotFound = errors.New("not found")
	// ErrInvalid: the arguments can never be stored.
	ErrInvalid = errors.New("invalid")
	// ErrBusy: other writers were faster, time and again.
	ErrBusy = errors.New("other writers were faster")
	// ErrLost: the write of a former leader. It changed nothing.
	ErrLost = errors.New("leadership was lost")
	// ErrRegressed: the store went back behind what others hold of it.
	ErrRegressed = errors.New("the store went back: find the newest backup, or accept this one with operator adopt-store")
	// ErrNoSpace: etcd is over its quota and takes deletes only.
	ErrNoSpace = errors.New("etcd has no space left: compact and defragment it, or raise its quota, then disarm the alarm")
)

// ConflictError says that another revision was published since the caller looked.
type ConflictError struct {
	Base      uint64 // what the caller saw
	Published uint64 // what is published
}

func (e *ConflictError) Error() string {
	if e.Published < e.Base {
		return fmt.Sprintf("revision %d was looked at, and revision %d is what is published here", e.Base, e.Published)
	}
	return fmt.Sprintf("revision %d was published since revision %d was looked at", e.Published, e.Base)
}

// SizeError says that a catalog is too large to be stored.
type SizeError struct {
	Size, Limit int // bytes
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("catalog of %d bytes is larger than %d", e.Size, e.Limit)
}

// compacted says that etcd has dropped what was asked for already.
func compacted(err error) bool {
	return errors.Is(err, rpctypes.ErrCompacted) || errors.Is(err, rpctypes.ErrGRPCCompacted)
}

// classify gives an error of etcd the sentinel that callers branch on.
func classify(act string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, rpctypes.ErrNoSpace), errors.Is(err, rpctypes.ErrGRPCNoSpace):
		return fmt.Errorf("%s: %w", act, ErrNoSpace)
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %w", act, err)
	case status.Code(err) == codes.InvalidArgument:
		return fmt.Errorf("%s: %w", act, err)
	}
	return fmt.Errorf("%s: %w: %w", act, ErrUnavailable, err)
}
