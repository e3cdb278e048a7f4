package decide

import (
	"context"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/clientlib"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Bounds of what a program says.
const (
	mostName   = 256      // bytes
	mostKey    = 64 << 10 // bytes of an affinity key; the library takes what it needs of it
	mostNeeds  = 64
	mostTokens = 1 << 40
	mostDetail = 200 // bytes
)

// Pick begins a call, or goes on with one.
func (s *Service) Pick(ctx context.Context, q *pb.PickRequest) (*pb.PickResponse, error) {
	identity := s.config.Caller(ctx)
	k, err := s.callFor(ctx, identity, q)
	if err != nil {
		return nil, err
	}
	a, err := k.pick(ctx)
	if err != nil {
		if q.Call == "" {
			k.cancel() // nobody knows its name
		}
		return nil, err
	}
	return answer(a), nil
}

func (s *Service) callFor(ctx context.Context, identity string, q *pb.PickRequest) (*call, error) {
	if q.Call != "" {
		return s.callOf(q.Call, identity)
	}
	if err := check(q); err != nil {
		return nil, err
	}
	c, err := s.core(ctx, identity)
	if err != nil {
		return nil, err
	}
	if err := s.config.May(identity, q.Tenant); err != nil {
		s.done(c)
		return nil, err
	}
	k, err := s.begin(identity, c, q)
	if err != nil {
		s.done(c)
	}
	return k, err
}

func request(q *pb.PickRequest) clientlib.Request {
	return clientlib.Request{
		Tenant: q.Tenant, API: q.Api, Needs: q.Needs, Stream: q.Stream, Input: q.InputTokens, MaxOutput: q.MaxOutputTokens,
		Session: q.Affinity, Prefix: q.Affinity,
	}
}

func check(q *pb.PickRequest) error {
	switch {
	case q.Workload == "":
		return status.Error(codes.InvalidArgument, "workload: empty; or name the call that goes on")
	case len(q.Workload) > mostName || len(q.Tenant) > mostName || len(q.Api) > mostName:
		return status.Errorf(codes.InvalidArgument, "workload, tenant, api: want at most %d bytes each", mostName)
	case len(q.Affinity) > mostKey:
		return status.Errorf(codes.InvalidArgument, "affinity: %d bytes, want at most %d", len(q.Affinity), mostKey)
	case len(q.Needs) > mostNeeds || len(strings.Join(q.Needs, "")) > mostNeeds*mostName:
		return status.Errorf(codes.InvalidArgument, "needs: want at most %d names", mostNeeds)
	case q.TimeoutUs < 0:
		return status.Errorf(codes.InvalidArgument, "timeout_us: %d, want 0 or more", q.TimeoutUs)
	}
	return nil
}

func answer(a *attempt) *pb.PickResponse {
	e, l := a.of.Endpoint(), a.of.Limits()
	m := &pb.PickResponse{
		Call: a.call.name, Attempt: a.name, Endpoint: e.Name, Provider: e.Provider, Dialect: e.Dialect,
		BaseUrl: e.BaseURL, ApiVersion: e.APIVersion, Model: e.Model, Api: a.of.API(), Credential: e.Credential,
		ConnectUs: l.Connect, AnswerUs: l.Answer, StallUs: l.Stall, TotalUs: l.Total,
	}
	if a.call.stream {
		m.FirstTokenUs = l.FirstToken
	}
	return m
}

// FirstToken marks the first event that the model generated.
func (s *Service) FirstToken(ctx context.Context, q *pb.FirstTokenRequest) (*pb.FirstTokenResponse, error) {
	a, err := s.attemptOf(q.Attempt, s.config.Caller(ctx))
	if err != nil {
		return nil, err
	}
	a.of.FirstToken()
	return &pb.FirstTokenResponse{}, nil
}

// Settle ends an attempt, once, and says whether another is due.
func (s *Service) Settle(ctx context.Context, q *pb.SettleRequest) (*pb.SettleResponse, error) {
	o, err := outcome(q)
	if err != nil {
		return nil, err
	}
	a, err := s.takeAttempt(q.Attempt, s.config.Caller(ctx))
	if err != nil {
		return nil, err
	}
	return &pb.SettleResponse{Again: a.call.settle(ctx, a, settlement{o, q.Content})}, nil
}

// kinds are the outcomes by the names that records have for them.
var kinds = func() map[string]clientlib.OutcomeKind {
	all := map[string]clientlib.OutcomeKind{"": clientlib.Abandoned}
	for k := clientlib.Abandoned; k <= clientlib.Unsent; k++ {
		all[k.String()] = k
	}
	return all
}()

func outcome(q *pb.SettleRequest) (clientlib.Outcome, error) {
	kind, ok := kinds[q.Outcome]
	if !ok {
		return clientlib.Outcome{}, status.Errorf(codes.InvalidArgument, "outcome: %.40q is none: want served, faulted, timed_out, limited, unauthorized, missing, too_long, filtered, refused, cancelled, invalid, unsent, or nothing", q.Outcome)
	}
	o := clientlib.Outcome{Kind: kind, Detail: q.Detail, RetryAfter: min(max(q.RetryAfterUs, 0), longest.Microseconds())}
	if len(o.Detail) > mostDetail {
		o.Detail = strings.ToValidUTF8(o.Detail[:mostDetail], "")
	}
	if u := q.Usage; u != nil {
		o.HasUsage, o.Estimated = true, u.Estimated
		o.Usage = clientlib.Usage{Input: tokens(u.Input), Cached: tokens(u.Cached), Written: tokens(u.Written), Output: tokens(u.Output)}
	}
	return o, nil
}

func tokens(n int64) int64 { return min(max(n, 0), mostTokens) }
