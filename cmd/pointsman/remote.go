package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/controlplane/rpc"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const messageMax = 64 << 20 // a published catalog is 32 MiB at most, and comes with its sources

// services are those of the control plane.
type services struct {
	pb.CatalogServiceClient
	pb.FleetServiceClient
}

// call asks the control plane one thing, within the timeout. Its error is a *failure that says what to do next.
func call[Q, A any](
	ctx context.Context, e *env, method func(services, context.Context, Q, ...grpc.CallOption) (A, error), question Q,
) (A, error) {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	conn, err := e.dial()
	if err != nil {
		var none A
		return none, err
	}
	defer conn.Close()
	var header, trailer metadata.MD // of an answer, be it only a refusal: these hold its content type at least
	answer, err := method(
		services{pb.NewCatalogServiceClient(conn), pb.NewFleetServiceClient(conn)}, ctx, question, grpc.Header(&header), grpc.Trailer(&trailer),
	)
	if err != nil {
		return answer, e.remote(err, len(header)+len(trailer) > 0)
	}
	return answer, nil
}

func (e *env) dial() (*grpc.ClientConn, error) {
	const who = "a control plane"
	target := e.address()
	if e.tokenFile == "" || !isAddress(target) {
		return connect(target, who)
	}
	token, err := e.token(target)
	if err != nil {
		return nil, err
	}
	return connect(target, who, grpc.WithPerRPCCredentials(token))
}

// connect reaches who is said to be at an address.
func connect(target, who string, more ...grpc.DialOption) (*grpc.ClientConn, error) {
	bad := &failure{code: exitUsage, err: fmt.Errorf("%q is no address of %s", target, who), next: "want unix:///path or host:port"}
	if !isAddress(target) {
		return nil, bad
	}
	conn, err := grpc.NewClient(target, append(more,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(messageMax), grpc.MaxCallSendMsgSize(messageMax)),
	)...)
	if err != nil {
		return nil, bad
	}
	return conn, nil
}

func isAddress(target string) bool {
	_, port, err := net.SplitHostPort(target)
	return strings.HasPrefix(target, "unix:") || err == nil && port != ""
}

// bearer is a token for each call.
type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

func (b bearer) RequireTransportSecurity() bool { return false } // token has checked that it stays on this host

// token reads the token for an address that is on this host: nothing is encrypted.
func (e *env) token(target string) (bearer, error) {
	host, _, err := net.SplitHostPort(target)
	ip := net.ParseIP(host)
	if !strings.HasPrefix(target, "unix:") && (err != nil || host != "localhost" && !ip.IsLoopback()) {
		return "", &failure{
			code: exitFailed, err: fmt.Errorf("address %q is not on this host: a token would travel in the clear", target),
			next: "forward a port or a socket of that host to this one, and use that as -addr",
		}
	}
	data, err := os.ReadFile(e.tokenFile)
	if err != nil {
		return "", fmt.Errorf("token file: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" || strings.ContainsAny(token, "\r\n") {
		return "", fmt.Errorf("token file %s does not hold one token on one line", e.tokenFile)
	}
	return bearer(token), nil
}

// remote says what a failed call means.
func (e *env) remote(err error, reached bool) error {
	s := status.Convert(err)
	f := &failure{
		code: exitFailed, err: errors.New(s.Message()),
		findings: detail[*pb.CatalogFindings](s).GetFindings(), changes: detail[*pb.DiffResponse](s).GetChanges(),
	}
	switch s.Code() {
	case codes.FailedPrecondition:
		f.code, f.next = precondition(detail[*errdetails.ErrorInfo](s).GetReason())
	case codes.Unauthenticated, codes.PermissionDenied:
		f.next = "give a token that may do this: -token-file or POINTSMAN_TOKEN_FILE"
	case codes.ResourceExhausted:
		if retry := detail[*errdetails.RetryInfo](s); retry != nil {
			f.next = "try again in " + retry.GetRetryDelay().AsDuration().String()
		}
	case codes.DeadlineExceeded:
		f.err = fmt.Errorf("no answer from the control plane at %s within %v", e.address(), e.timeout)
		f.next = "wait longer with -timeout, or look at its log"
	case codes.Canceled:
		f.err = errors.New("interrupted")
	case codes.NotFound:
		f.next = "`pointsman status`, `catalog history` and `catalog show` say what there is"
	case codes.Unimplemented:
		if strings.Contains(s.Message(), "HTTP status") {
			f.err, f.next = fmt.Errorf("what answers at %s is no control plane: %s", e.address(), s.Message()), "set POINTSMAN_ADDR or -addr"
			break
		}
		f.next = "the control plane is older than this program: compare `pointsman version` with `pointsman status`"
	case codes.Unavailable:
		if !reached {
			f.err = fmt.Errorf("cannot reach the control plane at %s: %s", e.address(), cause(s.Message()))
			f.next = "start it with `pointsman dev` or pointsman-controlplane, or set POINTSMAN_ADDR or -addr"
		}
	}
	return f
}

// cause is what the network said, out of what grpc says around it.
func cause(message string) string {
	if i := strings.LastIndex(message, ": "); i >= 0 {
		message = message[i+2:]
	}
	if message == "produced zero addresses" { // what the resolver makes of a name that is not known
		message = "no such host"
	}
	return strings.TrimRight(message, `"`)
}

// precondition tells a lost race from what only -force does and from what never goes.
func precondition(reason string) (code int, next string) {
	switch reason {
	case rpc.ReasonEmpties, rpc.ReasonStrands:
		return exitRefused, "-force does it all the same"
	case rpc.ReasonConflict, "":
		return exitConflict, "`pointsman catalog history` shows what came in between"
	}
	return exitFailed, ""
}

// detail is the first of its type, or nil.
func detail[D any](s *status.Status) (none D) {
	for _, d := range s.Details() {
		if found, ok := d.(D); ok {
			return found
		}
	}
	return none
}
