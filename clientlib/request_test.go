package clientlib

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pointsman/pointsman/clientlib/dialect"
	"github.com/pointsman/pointsman/clientlib/route"
)

func TestARequestSaysForWhomItIsAndWhatItGoesOnFrom(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", nil)
	r.Header.Set("X-Conversation", "7")
	r.Header.Set(TenantHeader, "acme")
	ask := &dialect.Ask{API: dialect.ChatCompletions, Needs: []string{"tools"}, Stream: true, MaxOutput: 5}
	want := Request{Tenant: "acme", API: "openai.chat", Needs: []string{"tools"}, Stream: true, MaxOutput: 5}
	for header, session := range map[string]string{"": "", "X-Conversation": "7", "X-Other": ""} {
		tr := &transport{config: TransportConfig{Session: header}}
		want.Session = session
		got := tr.request(r, ask)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Request{})); diff != "" {
			t.Errorf("%q:\n%s", header, diff)
		}
		got.Input = 10
		core := got.core(9)
		if diff := cmp.Diff(route.Request{Tenant: "acme", API: "openai.chat", Needs: []string{"tools"}, Stream: true, Input: 10, MaxOutput: 5, Session: session, Deadline: 9}, core); diff != "" {
			t.Errorf("%q:\n%s", header, diff)
		}
	}
}

func TestHowAPromptBeginsIsReadForWorkloadsThatGoByIt(t *testing.T) {
	terms := termsOf(&route.Catalog{Workloads: []route.Workload{
		{Name: "plain"}, {Name: "sessions", Affinity: route.Affinity{On: route.AffinitySession}},
		{Name: "prompts", Affinity: route.Affinity{On: route.AffinityPrefix}}, {Name: "hashed", Strategy: route.Hash},
	}}, nil)
	for name, want := range map[string]bool{"plain": false, "sessions": false, "prompts": true, "hashed": true, "unknown": false} {
		if got := terms.workloads[name].begins; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
