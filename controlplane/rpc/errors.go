package rpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"

	"github.com/pointsman/pointsman/controlplane/catalog"
	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Reasons that a FAILED_PRECONDITION gives in its ErrorInfo detail.
const (
	ReasonConflict = "CONFLICT" // another revision was published meanwhile
	ReasonEmpties  = "EMPTIES"  // a publish would leave no workload
	ReasonStrands  = "STRANDS"  // an override would leave a workload with nothing
	ReasonPinned   = "PINNED"   // workload pins do not fit over the catalog

	ReasonRegressed = "REGRESSED" // the store went back
)

const (
	domain     = "pointsman"
	maxDetails = 100 // findings or changes in one error: it travels in a trailer
)

// problem translates what a call failed with.
func problem(err error) error {
	var conflict *store.ConflictError
	var size *store.SizeError
	var compose *catalog.ComposeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &conflict):
		return conflictStatus(conflict)
	case errors.As(err, &compose):
		return composeStatus(compose)
	case errors.As(err, &size), errors.Is(err, store.ErrInvalid):
		return status.Error(codes.InvalidArgument, err.Error())
	case errors.Is(err, store.ErrRegressed):
		return detailed(codes.FailedPrecondition, err.Error(), &errdetails.ErrorInfo{Reason: ReasonRegressed, Domain: domain})
	case errors.Is(err, store.ErrNotFound):
		return status.Error(codes.NotFound, err.Error())
	case errors.Is(err, store.ErrBusy):
		return status.Errorf(codes.Aborted, "%v: try again", err)
	case errors.Is(err, store.ErrNoSpace):
		return status.Error(codes.ResourceExhausted, err.Error())
	case errors.Is(err, store.ErrUnavailable):
		return status.Errorf(codes.Unavailable, "%v: routing goes on with what is held; see that etcd answers, look whether the change is there, then try again", err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return status.FromContextError(err).Err()
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.Error(codes.Internal, err.Error())
}

func conflictStatus(e *store.ConflictError) error {
	return detailed(codes.FailedPrecondition, e.Error()+": plan again and publish on what is there now, or publish on any base",
		&errdetails.ErrorInfo{Reason: ReasonConflict, Domain: domain, Metadata: map[string]string{
			"base": strconv.FormatUint(e.Base, 10), "published": strconv.FormatUint(e.Published, 10),
		}})
}

func composeStatus(e *catalog.ComposeError) error {
	return detailed(codes.FailedPrecondition, fmt.Sprintf("the workload pins do not fit over the catalog: %v: unpin, or publish what both can share", e),
		&errdetails.ErrorInfo{Reason: ReasonPinned, Domain: domain},
		&pb.DiffResponse{Changes: e.Changes[:min(len(e.Changes), maxDetails)]},
		&pb.CatalogFindings{Findings: e.Findings[:min(len(e.Findings), maxDetails)]})
}

// findingsStatus refuses sources, with what is wrong with them: all of it, as far as it fits.
func findingsStatus(findings []*pb.Finding) error {
	failures := 0
	for _, f := range findings {
		if f.GetSeverity() == pb.Severity_SEVERITY_ERROR {
			failures++
		}
	}
	message := fmt.Sprintf("%s in the catalog", counted(failures, "error"))
	told := findings
	if len(told) > maxDetails {
		told = fitting(findings)
		message += fmt.Sprintf("; %d of %s are shown", len(told), counted(len(findings), "finding"))
	}
	bad := &errdetails.BadRequest{}
	for _, f := range told {
		bad.FieldViolations = append(bad.FieldViolations, &errdetails.BadRequest_FieldViolation{
			Field: f.GetPath(), Description: fmt.Sprintf("%s:%d:%d: %s", f.GetFile(), f.GetLine(), f.GetColumn(), f.GetSummary()),
		})
	}
	return detailed(codes.InvalidArgument, message, bad, &pb.CatalogFindings{Findings: told})
}

// fitting leaves out warnings before it leaves out errors.
func fitting(findings []*pb.Finding) []*pb.Finding {
	failures := slices.DeleteFunc(slices.Clone(findings), func(f *pb.Finding) bool { return f.GetSeverity() != pb.Severity_SEVERITY_ERROR })
	return failures[:min(len(failures), maxDetails)]
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func detailed(code codes.Code, message string, details ...protoadapt.MessageV1) error {
	s := status.New(code, message)
	if with, err := s.WithDetails(details...); err == nil {
		s = with
	}
	return s.Err()
}
