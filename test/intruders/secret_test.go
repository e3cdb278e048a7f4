package intruders

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/pointsman/pointsman/agent/metrics"
	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/cert"
	controlmetrics "github.com/pointsman/pointsman/controlplane/metrics"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
	"github.com/pointsman/pointsman/test/ca"
)

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// secrets are those that a world knows, by what they are.
type secrets map[string]string

func (s secrets) file(t *testing.T, name, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if block, _ := pem.Decode(data); block != nil {
		s[name+", as it is written"] = strings.Split(string(data), "\n")[1]
		data = block.Bytes[len(block.Bytes)-32:]
	}
	s[name] = strings.TrimSpace(string(data))
}

// in says where a text tells a secret.
func (s secrets) in(t *testing.T, where, text string) {
	t.Helper()
	for name, secret := range s {
		for how, form := range map[string]string{
			"as it is": secret, "in base64": base64.StdEncoding.EncodeToString([]byte(secret)), "in hex": hex.EncodeToString([]byte(secret)),
		} {
			if strings.Contains(text, form) {
				t.Errorf("%s tells the %s %s", where, name, how)
			}
		}
	}
}

// A secret is in no log, record, metric or error, nor, but for its own file, on any disk.
func TestSecretsAreToldNowhere(t *testing.T) {
	w := newWorld(t)
	known, said := secrets{"credential": credential}, &strings.Builder{}
	w.grant(t, "cn/node-1", "agent", "")
	state := t.TempDir()
	a := w.startAgentIn(t, "node-1", "node-1", state)
	token, made := w.token(t, "ci", "reader", 0)
	gone, doomed := w.token(t, "gone", "admin", 0)
	known.file(t, "token of the host", w.ownToken())
	known.file(t, "token of the agent's host", filepath.Join(state, "token"))
	known.file(t, "token", token)
	known.file(t, "token that is revoked", gone)
	acme := w.authority.Issue(t, "acme", ca.Leaf{Name: "acme"})
	known.file(t, "key of a certificate", acme.Key)

	// Calls that go well, and calls that are refused, each with its secret at hand.
	conn, bad := w.withToken(t, token), w.withToken(t, gone)
	becomes(t, codes.OK, func() error { return statusOf(t, conn) })
	if _, err := w.operate().Revoke(t.Context(), &pb.RevokeRequest{Subject: doomed.GetInfo().GetId(), Reason: "x"}); err != nil {
		t.Fatal(err)
	}
	becomes(t, codes.PermissionDenied, func() error { err := statusOf(t, bad); fmt.Fprintln(said, err); return err })
	for what, write := range writes(conn) {
		fmt.Fprintln(said, what, write(t.Context()))
	}
	broken := acme
	broken.Cert = broken.Key
	fmt.Fprintln(said, broken.Check(), statusOf(t, w.dial(t, cert.Files{}, "")), cert.Files{CA: acme.Key}.Check())
	misplaced := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(misplaced, []byte(made.GetToken()+"\n"+made.GetToken()), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := cert.ReadToken(misplaced)
	_, own := cert.OwnToken(misplaced)
	fmt.Fprintln(said, err, own)
	w.library(t, a.Addr().String(), acme, said)
	records := recordsOf(t, dial(t, a.Addr().String(), acme, filepath.Join(state, "token")))
	known.in(t, "a record", records)

	lists := w.lists(t)
	fmt.Fprintln(said, lists)
	eventually(t, "the log says who was turned away", func() bool { return strings.Contains(w.log.all(), "turned away") })
	known.in(t, "an error or answer", said.String())
	known.in(t, "a log", w.log.all())
	known.in(t, "a metric", scrape(t, controlmetrics.Collector(w.server.Figures))+scrape(t, metrics.Collector(a.Figures, metrics.Agent())))
	known.onDisk(t, w.dir, w.ownToken())
	known.onDisk(t, state, filepath.Join(state, "token"))
}

const credential = "sk-held-by-the-library-alone"

// echo is a provider that fails, and says in its failure what it was sent.
type echo struct{ sent *strings.Builder }

func (e echo) RoundTrip(r *http.Request) (*http.Response, error) {
	shown := r.Header.Get("Authorization")
	e.sent.WriteString(shown)
	return &http.Response{
		StatusCode: http.StatusUnauthorized, Request: r, Header: http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {shown}},
		Body: io.NopCloser(strings.NewReader(fmt.Sprintf(`{"error":{"message":"bad key %s","code":"invalid_api_key"}}`, shown))),
	}, nil
}

// library sends a request with a credential, that the provider repeats.
func (w *world) library(t *testing.T, agent string, f cert.Files, said *strings.Builder) {
	t.Helper()
	var sent strings.Builder
	c, err := clientlib.Open(t.Context(), clientlib.Config{
		Parents: []string{agent}, TLS: f, Name: "lib", HTTP: echo{&sent},
		Credentials: map[string]clientlib.Credential{"key": {
			Source: func(context.Context) (string, error) { return credential, nil }, Hosts: []string{"p.example"},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	calls := http.Client{Transport: c.Transport(clientlib.TransportConfig{})}
	q, err := http.NewRequestWithContext(clientlib.WithTenant(t.Context(), "acme"), http.MethodPost, "http://any/v1/chat/completions", strings.NewReader(`{"model":"chat","messages":[{"role":"user","content":"x"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := calls.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	fmt.Fprintf(said, "%v %v %s %v\n", answer.Status, answer.Header, body, err)
	if !strings.Contains(sent.String(), credential) {
		t.Errorf("the provider was sent %q: nothing is shown by this; the answer is %s", &sent, body)
	}
}

// recordsOf waits for the record of an attempt, and reads all there are.
func recordsOf(t *testing.T, conn *grpc.ClientConn) (text string) {
	t.Helper()
	eventually(t, "the attempt is recorded", func() bool {
		stream, err := pb.NewRecordServiceClient(conn).ListRecords(t.Context(), &pb.ListRecordsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		text = ""
		for {
			m, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return strings.Contains(text, "attempt")
			}
			if err != nil {
				t.Fatal(err)
			}
			text += fmt.Sprint(m)
		}
	})
	return text
}

// lists are what operators read.
func (w *world) lists(t *testing.T) string {
	t.Helper()
	ctx, operators := t.Context(), w.operate()
	tokens, err := operators.ListTokens(ctx, &pb.ListTokensRequest{})
	if err != nil {
		t.Fatal(err)
	}
	roles, err := operators.ListRoles(ctx, &pb.ListRolesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	out := fmt.Sprint(tokens, roles, w.clients(t), w.endpoints(t))
	audit, err := operators.ListAudit(ctx, &pb.ListAuditRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for {
		r, err := audit.Recv()
		if err != nil {
			return out
		}
		out += fmt.Sprint(r)
	}
}

func scrape(t *testing.T, c prometheus.Collector) string {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	if err := r.Register(c); err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(r, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if answer.Body.Len() == 0 {
		t.Error("no metrics")
	}
	return answer.Body.String()
}

// onDisk looks at every file but one.
func (s secrets) onDisk(t *testing.T, dir, but string) {
	t.Helper()
	looked := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == but || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		looked += len(data)
		s.in(t, path, string(bytes.TrimRight(data, "\x00")))
		return err
	})
	if err != nil || looked == 0 {
		t.Errorf("%d bytes looked at, %v", looked, err)
	}
}
