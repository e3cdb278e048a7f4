package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/pointsman/pointsman/clientlib/cert"
	"github.com/pointsman/pointsman/cmd/pointsman/dev"
	"github.com/pointsman/pointsman/controlplane/rpc"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pointsman runs the program and returns its exit code and output.
func pointsman(environ []string, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(args, strings.NewReader(""), &out, &err, environ)
	return code, out.String(), err.String()
}

func TestARefusalHasAnExitCodeAndSaysWhatToDo(t *testing.T) {
	for _, tc := range []struct {
		name   string
		answer error
		code   int
		stderr string
	}{
		{
			"findings", refusal(codes.InvalidArgument, "1 error in the catalog", &pb.CatalogFindings{Findings: []*pb.Finding{
				{Severity: pb.Severity_SEVERITY_ERROR, Summary: "no such endpoint", Hint: "did you mean gpu-a?", File: "a.hcl", Line: 3, Column: 5},
				{Severity: pb.Severity_SEVERITY_WARNING, Summary: "no limit", Path: "endpoint.gpu-a"},
			}}), 1,
			"CATALOG/a.hcl:3:5: error: no such endpoint (did you mean gpu-a?)\nendpoint.gpu-a: warning: no limit\n" +
				"error: 1 error in the catalog\n",
		},
		{
			"an argument", refusal(codes.InvalidArgument, "namespace \"No\" is no name"), 1,
			"error: namespace \"No\" is no name\n",
		},
		{
			"a lost race", precondFailed(rpc.ReasonConflict, "revision 2 is published"), 3,
			"error: revision 2 is published\n`pointsman catalog history` shows what came in between\n",
		},
		{
			"what needs force", precondFailed(rpc.ReasonStrands, "workload chat is left with nothing"), 4,
			"error: workload chat is left with nothing\n-force does it all the same\n",
		},
		{
			"pins that do not fit", refusal(codes.FailedPrecondition, "unpin workload \"chat\"",
				&errdetails.ErrorInfo{Reason: rpc.ReasonPinned},
				&pb.DiffResponse{Changes: []*pb.Change{{
					Change: pb.ChangeKind_CHANGE_KIND_CHANGED, Kind: pb.Kind_KIND_ENDPOINT, Name: "gpu-a", Attribute: "model", Before: "a", After: "b",
				}}}), 1,
			"~ endpoint gpu-a\n    ~ model  a → b\nerror: unpin workload \"chat\"\n",
		},
		{"not found", refusal(codes.NotFound, "no revision 7"), 1,
			"error: no revision 7\n`pointsman status`, `catalog history` and `catalog show` say what there is\n"},
		{
			"no permission", refusal(codes.PermissionDenied, "ada may not publish"), 1,
			"error: ada may not publish\ngive a token that may do this: -token-file or POINTSMAN_TOKEN_FILE; `pointsman role whoami` says who you are\n",
		},
		{
			"too much", refusal(codes.ResourceExhausted, "too many calls", &errdetails.RetryInfo{RetryDelay: durationpb.New(3 * time.Second)}), 1,
			"error: too many calls\ntry again in 3s\n",
		},
		{
			"no store", refusal(codes.Unavailable, "no member answers"), 1,
			"error: no member answers\n",
		},
		{
			"an older control plane", refusal(codes.Unimplemented, "unknown method Plan"), 1,
			"error: unknown method Plan\nthe control plane is older than this program: compare `pointsman version` with `pointsman status`\n",
		},
		{
			"a web server", refusal(codes.Unimplemented, "unexpected HTTP status code received from server: 404 (Not Found)"), 1,
			"error: what answers at ADDRESS is no control plane: unexpected HTTP status code received from server: 404 (Not Found)\n" +
				"set POINTSMAN_ADDR or -addr\n",
		},
		{"a bug", refusal(codes.Internal, "bug: no head"), 1, "error: bug: no head\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld()
			w.before = func(context.Context, string) error { return tc.answer }
			addr := serve(t, w)
			code, stdout, stderr := pointsman([]string{"POINTSMAN_ADDR=" + addr}, "catalog", "plan", "testdata/catalog")
			want := strings.NewReplacer("CATALOG", filepath.Join("testdata", "catalog"), "ADDRESS", addr).Replace(tc.stderr)
			if diff := cmp.Diff(want, stderr); code != tc.code || stdout != "" || diff != "" {
				t.Errorf("exit %d, want %d; stdout %q; stderr %s", code, tc.code, stdout, diff)
			}
		})
	}
}

func TestNobodyThereSaysHowToStartIt(t *testing.T) {
	code, _, stderr := pointsman(nil, "status", "-addr", "unix://"+filepath.Join(t.TempDir(), "none"))
	if code != 1 || !strings.Contains(stderr, "cannot reach the control plane at unix://") ||
		!strings.Contains(stderr, "no such file or directory\nstart it with `pointsman dev`") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestNoAnswerInTimeEndsTheCall(t *testing.T) {
	w := newWorld()
	w.before = func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }
	code, _, stderr := pointsman([]string{"POINTSMAN_ADDR=" + serve(t, w)}, "status", "-timeout", "1ms")
	if code != 1 || !strings.Contains(stderr, "within 1ms\nwait longer with -timeout") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestFlagsBeatTheEnvironment(t *testing.T) {
	var namespaces, tokens []string
	w := newWorld()
	w.before = func(ctx context.Context, namespace string) error {
		namespaces, tokens = append(namespaces, namespace), append(tokens, strings.Join(tokenOf(ctx), ""))
		return nil
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	environ := []string{"POINTSMAN_ADDR=" + serve(t, w), "POINTSMAN_NAMESPACE=staging", "POINTSMAN_TOKEN_FILE="}
	for _, args := range [][]string{{}, {"-namespace", "live"}, {"-token-file", file}} {
		if code, _, stderr := pointsman(environ, append([]string{"status"}, args...)...); code != 0 {
			t.Error(stderr)
		}
	}
	if diff := cmp.Diff([]string{"staging", "live", "staging"}, namespaces); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"", "", "Bearer secret"}, tokens); diff != "" {
		t.Error(diff)
	}
}

func TestNothingTravelsInTheClearBeyondThisHost(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]bool{
		"unix:///run/s": true, "127.0.0.1:7400": true, "[::1]:7400": true, "localhost:7400": true,
		"10.0.0.1:7400": false, "control.example:7400": false, "control.example": false, "dns:///control.example:7400": false,
	} {
		for _, token := range []string{"", file} {
			conn, err := (&env{}).connect(target, "a control plane", token)
			if (err == nil) != want {
				t.Errorf("%s: %v", target, err)
			}
			if conn != nil {
				conn.Close()
			}
		}
	}
}

func TestATokenFileHoldsOneToken(t *testing.T) {
	for content, want := range map[string]string{"": "does not hold one token", "a\nb\n": "does not hold one token"} {
		file := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		code, _, stderr := pointsman([]string{"POINTSMAN_TOKEN_FILE=" + file}, "status", "-addr", "127.0.0.1:1")
		if code != 1 || !strings.Contains(stderr, want) || content != "" && strings.Contains(stderr, "b\n") {
			t.Errorf("exit %d: %s", code, stderr)
		}
	}
}

func TestTheShellCompletesWhatIsServed(t *testing.T) {
	environ := []string{"POINTSMAN_ADDR=" + serve(t, newWorld()), "USER=ada"}
	if code, _, stderr := pointsman(environ, "catalog", "publish", "testdata/catalog", "-m", "first"); code != 0 {
		t.Fatal(stderr)
	}
	for args, want := range map[string]string{
		"endpoint drain ":         "gpu-a\tqwen-7b\ngpu-b\tqwen-7b\n:4\n",
		"endpoint drain gpu-a ":   ":4\n",
		"explain ":                "chat\n:4\n",
		"catalog pin ":            "1\tfirst\n:4\n",
		"catalog pin --workload ": "chat\n:4\n",
	} {
		_, stdout, _ := pointsman(environ, append([]string{"__complete"}, strings.Split(args, " ")...)...)
		if diff := cmp.Diff(want, stdout); diff != "" {
			t.Errorf("%s: %s", args, diff)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestAnAnswerThatCannotBeWrittenIsAnError(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"version", "-json"}, {"catalog", "validate", "testdata/catalog"}, {"-h"}} {
		var stderr bytes.Buffer
		if code := run(args, strings.NewReader(""), full{}, &stderr, nil); code != 1 || !strings.Contains(stderr.String(), "no space left on device") {
			t.Errorf("%v: exit %d: %s", args, code, stderr.String())
		}
	}
}

func TestTheHostsTokenIsFoundOverLoopbackAndStaysThere(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	if _, err := cert.OwnToken(dev.TokenFile()); err != nil {
		t.Fatal(err)
	}
	e := &env{}
	for target, want := range map[string]bool{
		"127.0.0.1:7400": true, "localhost:7400": true, "unix:///run/s": false, "10.0.0.1:7400": false, "control.example:7400": false,
	} {
		if got := e.tokens(target); (len(got) > 0) != want {
			t.Errorf("%s: %q", target, got)
		}
	}
	e.tokenFile = "mine"
	if got := e.tokens("127.0.0.1:7400"); !slices.Equal(got, []string{"mine"}) {
		t.Errorf("the one that is named: %q", got)
	}
}

// guarded is a world on loopback that knows one token.
func guarded(t *testing.T, token string) string {
	t.Helper()
	w := newWorld()
	w.before = func(ctx context.Context, _ string) error {
		if got := tokenOf(ctx); !slices.Equal(got, []string{"Bearer " + token}) {
			return status.Error(codes.Unauthenticated, "the token is none of namespace \"default\"")
		}
		return nil
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveAt(t, w, listener)
	return listener.Addr().String()
}

func TestOfTheTokensThatWereLeftTheOneThatIsKnownIsShown(t *testing.T) {
	addr, dir := guarded(t, "right"), t.TempDir()
	file := func(token string) string {
		path := filepath.Join(dir, token)
		if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	old, right, older := file("old"), file("right"), file("older")
	for _, c := range []struct {
		files []string
		want  codes.Code
	}{
		{[]string{right}, codes.OK}, {[]string{old, right}, codes.OK}, {[]string{right, old}, codes.OK}, {[]string{old, older, right}, codes.OK},
		{[]string{old, older}, codes.Unauthenticated}, {[]string{old}, codes.Unauthenticated}, {nil, codes.Unauthenticated},
	} {
		conn, err := (&env{timeout: time.Minute}).dialAs(t.Context(), addr, c.files)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := servicesOf(conn).Status(t.Context(), &pb.StatusRequest{}); status.Code(err) != c.want {
			t.Errorf("%q: %v", c.files, err)
		}
		conn.Close()
	}
}

func TestATokenThatWasLeftAndIsNotKnownIsNamed(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	if _, err := cert.OwnToken(dev.TokenFile()); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := pointsman(nil, "status", "-addr", guarded(t, "another"))
	if code != 1 || !strings.Contains(stderr, "is none of namespace") || !strings.Contains(stderr, dev.TokenFile()+": give a token that may do this: -token-file") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestACertificateThatIsNamedIsNotPassedOverForATokenThatNobodyNamed(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	left := dev.TokenFile()
	if _, err := cert.OwnToken(left); err != nil {
		t.Fatal(err)
	}
	shown := func(e env) bool { return slices.Contains(e.tokens("localhost:7600"), left) }
	if !shown(env{tls: cert.Files{CA: "ca"}}) || shown(env{tls: cert.Files{CA: "ca", Cert: "cert", Key: "key"}}) || shown(env{tokenFile: "named"}) {
		t.Error("what a control plane left is shown with a certificate or a token that is named, or not without")
	}
}

func TestATokenFileThatOthersMayReadIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o644); err != nil { // whatever the umask
		t.Fatal(err)
	}
	code, _, stderr := pointsman(nil, "status", "-addr", "127.0.0.1:1", "-token-file", file)
	if code != 1 || !strings.Contains(stderr, "others may open it (-rw-r--r--): chmod 600 "+file) {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestHelpSaysOneDefault(t *testing.T) {
	for _, environ := range [][]string{nil, {"POINTSMAN_ADDR=h:1", "POINTSMAN_TOKEN_FILE=f"}} {
		_, stdout, _ := pointsman(environ, "status", "-h")
		for line := range strings.Lines(stdout) {
			if strings.Count(line, "(default") > 1 {
				t.Error(line)
			}
		}
	}
}

func TestAStoreThatDidNotGoBackIsAdoptedByForceOnly(t *testing.T) {
	w := newWorld()
	environ := []string{"POINTSMAN_ADDR=" + serve(t, w)}
	adopt := []string{"operator", "adopt-store", "-reason", "x"}
	code, stdout, stderr := pointsman(environ, adopt...)
	if code != 4 || stdout != "" || !strings.Contains(stderr, "no alarm store_regressed: adopting would begin epoch") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	if code, _, stderr := pointsman(environ, append(adopt, "-force")...); code != 0 {
		t.Error(stderr)
	}
}
