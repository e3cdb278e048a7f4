package clienttest_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/route"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ask sends a body straight to an endpoint.
func ask(t *testing.T, e *clienttest.Endpoint, body string) (int, string, error) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	resp, err := client.Post(e.URL+"/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func TestEndpointsAnswerAsToldThenAsUsual(t *testing.T) {
	e := clienttest.Start("a")
	defer e.Close()
	e.Next(clienttest.Fail(429, "slow_down", "Retry-After", "3"), clienttest.Cut())
	if status, body, err := ask(t, e, `{}`); status != 429 || !strings.Contains(body, `"slow_down"`) || err != nil {
		t.Errorf("%d %s %v", status, body, err)
	}
	if status, _, err := ask(t, e, `{}`); err == nil {
		t.Errorf("%d after a lost connection", status)
	}
	if status, body, err := ask(t, e, `{"model":"m"}`); status != 200 || !strings.Contains(body, "hello world") || err != nil {
		t.Errorf("%d %s %v", status, body, err)
	}
	e.Always(clienttest.Say("bye"))
	if _, body, err := ask(t, e, `{"stream":true,"stream_options":{"include_usage":true}}`); !strings.Contains(body, `"bye"`) || !strings.Contains(body, "prompt_tokens") || !strings.HasSuffix(body, "data: [DONE]\n\n") || err != nil {
		t.Errorf("%s %v", body, err)
	}
	if got := e.Requests(); len(got) != 4 || got[2].Model != "m" || !got[3].Stream || !got[3].Usage {
		t.Errorf("%+v", got)
	}
	if status, _, err := ask(t, e, `oops`); status != 400 || err != nil {
		t.Errorf("%d %v", status, err)
	}
}

func TestBrokenStreams(t *testing.T) {
	e := clienttest.Start("a")
	defer e.Close()
	for _, c := range []struct {
		answer clienttest.Answer
		want   string
		cut    bool
	}{
		{clienttest.Stop("x"), `"x"`, false},
		{clienttest.Break("server_error", "x"), `"code":"server_error"`, false},
		{clienttest.Cut("x"), `"x"`, true},
		{clienttest.Events("[DONE]"), "[DONE]", false},
	} {
		e.Next(c.answer)
		if _, body, err := ask(t, e, `{"stream":true}`); !strings.Contains(body, c.want) || (err != nil) != c.cut {
			t.Errorf("%s %v, want %s", body, err, c.want)
		}
	}
}

func TestTenantsAndQuotasLimitWhatTheyAreToldTo(t *testing.T) {
	e := clienttest.Start("a")
	defer e.Close()
	catalog := clienttest.Pool("chat", e)
	quota, poor, rich := clienttest.Quota("org"), clienttest.Tenant("poor"), clienttest.Tenant("rich")
	quota.Daily, poor.Caps.Concurrency = 1000, 0
	catalog.Quotas, catalog.Tenants = []route.Quota{quota}, []route.Tenant{poor, rich}
	catalog.Endpoints[0].Quotas = []string{"org"}
	c, err := clienttest.Open(t.Context(), clientlib.Config{Catalog: catalog})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for tenant, want := range map[string]error{"poor": clientlib.ErrShed, "rich": nil} {
		a, err := c.Workload("chat").Pick(clientlib.Request{Tenant: tenant})
		a.Abandon()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", tenant, err, want)
		}
	}
}

func TestAClientThatCannotOpenSaysSo(t *testing.T) {
	if _, err := clienttest.Open(t.Context(), clientlib.Config{}); err == nil {
		t.Error("no error")
	}
}
