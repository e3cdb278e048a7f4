package route_test

import (
	"testing"

	"github.com/pointsman/pointsman/clientlib/route"
)

func TestAnOutcomeHasADomainAndAPhase(t *testing.T) {
	for _, c := range []struct {
		rule    string
		outcome route.Outcome
		token   bool
		domain  route.Domain
		phase   route.Phase
	}{
		{"nothing is known of what was abandoned", route.Outcome{}, false, route.DomainUnknown, route.BeforeFirstToken},
		{"an answer is complete", route.Outcome{Kind: route.Served}, false, route.DomainEndpoint, route.Complete},
		{"a refused answer is complete", route.Outcome{Kind: route.Invalid}, true, route.DomainEndpoint, route.Complete},
		{"a status is the endpoint's", route.Outcome{Kind: route.Faulted, Status: 503}, false, route.DomainEndpoint, route.BeforeFirstToken},
		{"a failure without one is the network's", route.Outcome{Kind: route.Faulted}, true, route.DomainNetwork, route.MidStream},
		{"silence is the endpoint's", route.Outcome{Kind: route.TimedOut}, false, route.DomainEndpoint, route.BeforeFirstToken},
		{"a limit is the account's", route.Outcome{Kind: route.Limited}, false, route.DomainAccount, route.BeforeFirstToken},
		{"a key is the account's", route.Outcome{Kind: route.Unauthorized}, false, route.DomainAccount, route.BeforeFirstToken},
		{"a missing model is the endpoint's", route.Outcome{Kind: route.Missing}, false, route.DomainEndpoint, route.BeforeFirstToken},
		{"what is too long is the caller's", route.Outcome{Kind: route.TooLong}, false, route.DomainCaller, route.BeforeFirstToken},
		{"what is filtered is the caller's", route.Outcome{Kind: route.Filtered}, true, route.DomainCaller, route.MidStream},
		{"what is refused is the caller's", route.Outcome{Kind: route.Refused}, false, route.DomainCaller, route.BeforeFirstToken},
		{"an end of the caller's own", route.Outcome{Kind: route.Cancelled}, true, route.DomainCaller, route.MidStream},
		{"nothing was sent", route.Outcome{Kind: route.Unsent}, false, route.DomainCaller, route.BeforeDispatch},
	} {
		if d, p := c.outcome.Domain(), c.outcome.Kind.Phase(c.token); d != c.domain || p != c.phase {
			t.Errorf("%s: %v, %v", c.rule, d, p)
		}
	}
}

func TestAShedHasADomain(t *testing.T) {
	want := map[route.ShedKind]string{
		route.ShedIncompatible: "caller", route.ShedOpen: "endpoint", route.ShedLimited: "account", route.ShedFull: "endpoint",
		route.ShedTenant: "tenant", route.ShedTenantCap: "tenant", route.ShedTenantCap + 1: "unknown",
	}
	for kind, domain := range want {
		if got := kind.Domain().String(); got != domain {
			t.Errorf("%v: %s, want %s", kind, got, domain)
		}
	}
}
