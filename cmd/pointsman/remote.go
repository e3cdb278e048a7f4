package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/clientlib/cert"
	"github.com/pointsman/pointsman/cmd/pointsman/dev"
	"github.com/pointsman/pointsman/controlplane"
	"github.com/pointsman/pointsman/controlplane/rpc"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const messageMax = 64 << 20 // a published catalog is 32 MiB at most, and comes with its sources

// services are those of the control plane.
type services struct {
	pb.CatalogServiceClient
	pb.FleetServiceClient
	pb.OperatorServiceClient
}

func servicesOf(conn *grpc.ClientConn) services {
	return services{pb.NewCatalogServiceClient(conn), pb.NewFleetServiceClient(conn), pb.NewOperatorServiceClient(conn)}
}

// call asks the control plane one thing, within the timeout. Its error is a *failure that says what to do next.
func call[Q, A any](
	ctx context.Context, e *env, method func(services, context.Context, Q, ...grpc.CallOption) (A, error), question Q,
) (A, error) {
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(ctx, rpc.UserKey, e.user()), e.timeout)
	defer cancel()
	conn, err := e.dial(ctx)
	if err != nil {
		var none A
		return none, err
	}
	defer conn.Close()
	var header, trailer metadata.MD // of an answer, be it only a refusal: these hold its content type at least
	answer, err := method(servicesOf(conn), ctx, question, grpc.Header(&header), grpc.Trailer(&trailer))
	if err != nil {
		return answer, e.remote(err, len(header)+len(trailer) > 0)
	}
	e.warn(header)
	return answer, nil
}

func (e *env) dial(ctx context.Context) (*grpc.ClientConn, error) {
	target := e.address()
	return e.dialAs(ctx, target, e.tokens(target))
}

// dialAs reaches a control plane with the first of these files whose token it knows; with the last, if none.
func (e *env) dialAs(ctx context.Context, target string, tokenFiles []string) (*grpc.ClientConn, error) {
	for len(tokenFiles) > 1 {
		conn, err := e.connect(target, "a control plane", tokenFiles[0])
		if err != nil || e.known(ctx, conn) {
			return conn, err
		}
		conn.Close()
		tokenFiles = tokenFiles[1:]
	}
	return e.connect(target, "a control plane", strings.Join(tokenFiles, ""))
}

// known tells whether the control plane knows who asks, or cannot say.
func (e *env) known(ctx context.Context, conn *grpc.ClientConn) bool {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	_, err := servicesOf(conn).WhoAmI(ctx, &pb.WhoAmIRequest{})
	return status.Code(err) != codes.Unauthenticated
}

// connect reaches who is said to be at an address, with the token of a file, if there is one.
func (e *env) connect(target, who, tokenFile string) (*grpc.ClientConn, error) {
	bad := &failure{code: exitUsage, err: fmt.Errorf("%q is no address of %s", target, who), next: "want unix:///path or host:port"}
	if !isAddress(target) {
		return nil, bad
	}
	if tokenFile != "" {
		if _, err := cert.ReadToken(tokenFile); err != nil {
			return nil, err
		}
	}
	secured, err := cert.Dial(target, e.tls, tokenFile)
	if err != nil {
		return nil, err
	}
	if e.tls.None() && !cert.Here(target) {
		return nil, &failure{
			code: exitFailed, err: fmt.Errorf("address %q is not on this host: it is reached by TLS only", target),
			next: "name the CA that signed its certificate: -tls-ca FILE or POINTSMAN_TLS_CA; or forward a port or a socket of that host to this one",
		}
	}
	conn, err := grpc.NewClient(target, append(secured,
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

// tokens are the files whose tokens are shown, one after the other: the one that is named; without a certificate
// over loopback else all that control planes of this host left for their user: some of those may be gone.
func (e *env) tokens(target string) []string {
	switch {
	case e.tokenFile != "":
		return []string{e.tokenFile}
	case e.tls.Cert != "": // it says who asks: a token would go before it
		return nil
	case strings.HasPrefix(target, "unix:") || !cert.Here(target):
		return nil
	}
	return slices.DeleteFunc(e.localTokens(), func(path string) bool {
		_, err := cert.ReadToken(path)
		return err != nil
	})
}

// localTokens are where control planes of this host leave their tokens, as they are set up by default.
func (e *env) localTokens() []string {
	paths := []string{controlplane.DefaultTokenFile, "/var/lib/pointsman/" + controlplane.TokenName}
	if mine := dev.TokenFile(); mine != "" {
		paths = append(paths, mine)
	}
	return paths
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
		f.next = "give a token that may do this: -token-file or POINTSMAN_TOKEN_FILE; `pointsman role whoami` says who you are"
		if shown := e.tokens(e.address()); s.Code() == codes.Unauthenticated && e.tokenFile == "" && len(shown) > 0 {
			f.next = "it was shown what control planes of this host left in " + strings.Join(shown, ", ") + ": " + f.next
		}
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
		if !strings.Contains(s.Message(), "`pointsman ") { // it says itself where to look
			f.next = "`pointsman status`, `catalog history` and `catalog show` say what there is"
		}
	case codes.Unimplemented:
		if strings.Contains(s.Message(), "HTTP status") {
			f.err, f.next = fmt.Errorf("what answers at %s is no control plane: %s", e.address(), s.Message()), "set POINTSMAN_ADDR or -addr"
			break
		}
		f.next = "the control plane is older than this program: compare `pointsman version` with `pointsman status`"
	case codes.Unavailable:
		f.away = true
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
