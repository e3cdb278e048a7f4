package clientlib_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/clienttest"
	"github.com/pointsman/pointsman/clientlib/route"
)

func TestEachEndpointGetsItsOwnKeyAndNoOther(t *testing.T) {
	r := setUp(t, keys)
	r.a.Next(clienttest.Fail(500, "x"))
	if _, _, err := r.answer(plain, "Authorization", "Bearer caller"); err != nil {
		t.Fatal(err)
	}
	for _, e := range []*clienttest.Endpoint{r.a, r.b} {
		if got, want := e.Requests()[0].Header.Get("Authorization"), "Bearer secret-"+e.Name; got != want {
			t.Errorf("endpoint %q got %q, want %q", e.Name, got, want)
		}
	}
}

// A catalog is somebody else's word. Whatever it says, this process sends its secrets,
// and runs and reads, only what its own configuration says.
func TestACatalogCannotReachASecret(t *testing.T) {
	thief := clienttest.Start("thief")
	defer thief.Close()
	thiefHost := strings.TrimSuffix(strings.TrimPrefix(thief.URL, "http://"), "/v1")
	port := thiefHost[strings.LastIndex(thiefHost, ":"):]
	marker := filepath.Join(t.TempDir(), "ran")
	for _, c := range []struct{ rule, credential, base string }{
		{"another host", "key-a", thief.URL},
		{"a name that is a path", "../key-a", thief.URL},
		{"a name that is a source", "env:TEST_SECRET_a", thief.URL},
		{"a name that is a file", "file:/etc/hostname", thief.URL},
		{"a name that is a command", "exec:/usr/bin/touch " + marker, thief.URL},
		{"a name in upper case", "KEY-A", thief.URL},
		{"a name of a variable", "TEST_SECRET_a", thief.URL},
		{"the allowed host as a user", "key-a", "http://api.allowed.example:x@" + thiefHost},
		{"the allowed host as a user, bare", "key-a", "http://api.allowed.example@" + thiefHost + "/v1"},
		{"the allowed host in the path", "key-a", thief.URL + "/api.allowed.example"},
		{"the allowed host in a query", "key-a", thief.URL + "?api.allowed.example"},
		{"the allowed host in a fragment", "key-a", thief.URL + "#api.allowed.example"},
		{"the allowed host before another", "key-a", "http://api.allowed.example.localhost" + port},
		{"the allowed host at another port", "key-a", "https://api.allowed.example:8443/v1"},
		{"the allowed host without TLS", "key-a", "http://api.allowed.example/v1"},
		{"the allowed host without TLS at TLS's port", "key-a", "http://api.allowed.example:443/v1"},
		{"another scheme", "key-a", "file:///etc/passwd"},
		{"a socket", "key-a", "unix:///run/x.sock"},
		{"no scheme", "key-a", "//api.allowed.example/v1"},
		{"no host", "key-a", "https:///v1"},
		{"a backslash", "key-a", `https://api.allowed.example\@` + thiefHost},
		{"an odd label", "key-a", "https://api.allowed.example%2f@" + thiefHost},
	} {
		r := setUp(t, keys, func(r *rig, cat *route.Catalog, config *clientlib.Config) {
			config.Credentials["key-a"] = clientlib.Credential{From: "env:TEST_SECRET_a", Hosts: []string{"api.allowed.example"}}
			cat.Endpoints[0].Credential, cat.Endpoints[0].BaseURL = c.credential, c.base
		})
		if _, _, err := r.answer(plain); err != nil {
			t.Fatal(err)
		}
		r.decided("b served")
		r.sent(thief, 0)
		for _, candidate := range r.Explain("chat", clientlib.Request{}).Candidates {
			if candidate.Endpoint == "a" && candidate.Reason != route.ReasonCredential && candidate.Reason != route.ReasonUnsupported {
				t.Errorf("%s: reason %v", c.rule, candidate.Reason)
			}
		}
	}
	if _, err := os.Stat(marker); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a catalog ran a command: %v", err)
	}
}

func TestAHostIsTheSameHoweverItIsSpelt(t *testing.T) {
	r := setUp(t, keys, func(r *rig, c *route.Catalog, config *clientlib.Config) {
		port := r.a.URL[strings.LastIndex(r.a.URL, ":"):]
		c.Endpoints[0].BaseURL = "http://LocalHost" + port
		config.Credentials["key-a"] = clientlib.Credential{From: "env:TEST_SECRET_a", Hosts: []string{"LOCALHOST." + strings.TrimSuffix(port, "/v1")}}
	})
	if _, _, err := r.answer(plain); err != nil {
		t.Fatal(err)
	}
	r.decided("a served")
}

func TestOnlyAllowedHostsAreSentTo(t *testing.T) {
	r := setUp(t, func(r *rig, _ *route.Catalog, config *clientlib.Config) {
		config.AllowedHosts = []string{strings.TrimSuffix(strings.TrimPrefix(r.b.URL, "http://"), "/v1")}
	})
	if _, _, err := r.answer(plain); err != nil {
		t.Fatal(err)
	}
	r.decided("b served")
	r.sent(r.a, 0)
}

func TestAllowedHostsOfTheEnvironment(t *testing.T) {
	r := setUp(t, func(r *rig, _ *route.Catalog, _ *clientlib.Config) {
		t.Setenv("POINTSMAN_ALLOWED_HOSTS", "x.example, "+strings.TrimSuffix(strings.TrimPrefix(r.b.URL, "http://"), "/v1"))
	})
	if _, _, err := r.answer(plain); err != nil {
		t.Fatal(err)
	}
	r.decided("b served")
}

func TestCredentialsOfTheEnvironment(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	write := func(value string) {
		if err := os.WriteFile(file, []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first\n")
	r := setUp(t, func(r *rig, c *route.Catalog, _ *clientlib.Config) {
		c.Endpoints[0].Credential = "own-key"
		t.Setenv("POINTSMAN_CREDENTIAL_OWN_KEY", "file:"+file)
		t.Setenv("POINTSMAN_CREDENTIAL_OWN_KEY_HOSTS", strings.TrimSuffix(strings.TrimPrefix(r.a.URL, "http://"), "/v1"))
	})
	for i, want := range []string{"first", "second, longer"} {
		write(want + "\n")
		if _, _, err := r.answer(plain); err != nil {
			t.Fatal(err)
		}
		if got := r.a.Requests()[i].Header.Get("Authorization"); got != "Bearer "+want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestASecretThatCannotBeReadIsNotSent(t *testing.T) {
	r := setUp(t, keys)
	t.Setenv("TEST_SECRET_a", "two\nlines")
	if _, _, err := r.answer(plain); err != nil {
		t.Fatal(err)
	}
	r.decided("a unsent", "b served")
	r.sent(r.a, 0)
	if d := r.Attempts()[0].Outcome.Detail; d != `credential "key-a": is not one line of printable characters` {
		t.Errorf("detail %q", d)
	}
}

func TestNoRedirectCarriesACredentialElsewhere(t *testing.T) {
	thief := clienttest.Start("thief")
	defer thief.Close()
	for _, status := range []int{302, 307, 308} {
		for _, whole := range []bool{true, false} {
			for _, body := range []string{plain, streamed} {
				r := setUp(t, keys, func(_ *rig, c *route.Catalog, _ *clientlib.Config) { c.Workloads[0].Whole = whole })
				for _, e := range []*clienttest.Endpoint{r.a, r.b} {
					e.Always(clienttest.Fail(status, "moved", "Location", thief.URL+"/chat/completions"))
				}
				resp, _, err := r.answer(body)
				if err != nil || resp.StatusCode == 200 || resp.Header.Get("Location") != "" {
					t.Errorf("%d, whole %v: %d %v", status, whole, resp.StatusCode, err)
				}
				r.decided("a faulted", "b faulted")
			}
		}
	}
	if n := len(thief.Requests()); n != 0 {
		t.Errorf("%d requests followed a redirect", n)
	}
}

// Whatever a source does, no secret shows, and the call goes where it can.
func TestASourceThatFailsTellsNoSecret(t *testing.T) {
	const value = "secret-of-the-hook"
	for rule, source := range map[string]func(context.Context) (string, error){
		"an error that quotes it": func(context.Context) (string, error) { return value, errors.New("refused " + value) },
		"a panic that quotes it":  func(context.Context) (string, error) { panic("no " + value) },
		"two lines":               func(context.Context) (string, error) { return value + "\nX-Other: " + value, nil },
		"a byte that is no text":  func(context.Context) (string, error) { return value + "\x00", nil },
		"nothing":                 func(context.Context) (string, error) { return " \n", nil },
		"far too much":            func(context.Context) (string, error) { return strings.Repeat(value, 1<<13), nil },
	} {
		l := &listener{}
		r := setUp(t, keys, func(_ *rig, _ *route.Catalog, config *clientlib.Config) {
			config.Credentials["key-a"] = clientlib.Credential{Source: source, Hosts: config.Credentials["key-a"].Hosts}
			config.Observer = l
		})
		for _, body := range []string{plain, streamed} { // twice: a source that failed can be asked again
			if _, _, err := r.answer(body); err != nil {
				t.Fatal(err)
			}
		}
		r.decided("a unsent", "b served", "a unsent", "b served")
		r.sent(r.a, 0)
		a, err := r.Workload("chat").Pick(clientlib.Request{})
		if err != nil {
			t.Fatal(err)
		}
		_, failed := a.Secret(t.Context())
		a.Abandon()
		if failed == nil {
			t.Errorf("%s: no error", rule)
		}
		r.Close() // all events are told
		shown := fmt.Sprintf("%+v %+v %+v %+v %v %+v", r.Attempts(), l.events, r.Explain("chat", clientlib.Request{}), r.Endpoints(), failed, failed)
		if strings.Contains(shown, value) {
			t.Errorf("%s: shown in %s", rule, shown)
		}
	}
}

func TestASourceOfItsOwn(t *testing.T) {
	var asked int
	r := setUp(t, keys, func(_ *rig, _ *route.Catalog, config *clientlib.Config) {
		config.Credentials["key-a"] = clientlib.Credential{Hosts: config.Credentials["key-a"].Hosts, Source: func(context.Context) (string, error) {
			asked++
			return fmt.Sprintf("secret-%d\n", asked), nil
		}}
	})
	for i, want := range []string{"Bearer secret-1", "Bearer secret-2"} {
		if _, _, err := r.answer(plain); err != nil {
			t.Fatal(err)
		}
		if got := r.a.Requests()[i].Header.Get("Authorization"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A key that an endpoint refuses may have been replaced since its command was run.
func TestARefusalHasTheCommandRunAgain(t *testing.T) {
	r := setUp(t, keys, func(_ *rig, _ *route.Catalog, config *clientlib.Config) {
		path := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(path, []byte("echo x >> $0.runs; echo secret-$(wc -l < $0.runs)"), 0o600); err != nil {
			t.Fatal(err)
		}
		config.AllowExec = true
		config.Credentials["key-a"] = clientlib.Credential{From: "exec:/bin/sh " + path, Hosts: config.Credentials["key-a"].Hosts}
	})
	var attempts []clientlib.Attempt
	for range 2 {
		a, err := r.Workload("chat").Pick(clientlib.Request{})
		if err != nil {
			t.Fatal(err)
		}
		attempts = append(attempts, a)
	}
	for i, want := range []string{"secret-1", "secret-1", "secret-2"} {
		s, err := attempts[i/2].Secret(t.Context())
		if err != nil || s.Reveal() != want {
			t.Errorf("%q %v, want %q", s.Reveal(), err, want)
		}
		if i == 1 {
			attempts[0].Settle(clientlib.Outcome{Kind: clientlib.Unauthorized, Status: 401})
		}
	}
	attempts[1].Abandon()
}

func TestCommandsRunOnlyWhenAllowed(t *testing.T) {
	c := clientlib.Config{Catalog: &route.Catalog{}, Credentials: map[string]clientlib.Credential{"x": {From: "exec:/bin/echo secret-x", Hosts: []string{"127.0.0.1"}}}}
	if err := c.Check(); err == nil || !strings.Contains(err.Error(), "AllowExec") {
		t.Errorf("%v", err)
	}
	r := setUp(t, keys, func(r *rig, _ *route.Catalog, config *clientlib.Config) {
		config.AllowExec = true
		config.Credentials["key-a"] = clientlib.Credential{From: "exec:/bin/echo secret-x", Hosts: config.Credentials["key-a"].Hosts}
	})
	if _, _, err := r.answer(plain); err != nil {
		t.Fatal(err)
	}
	if got := r.a.Requests()[0].Header.Get("Authorization"); got != "Bearer secret-x" {
		t.Errorf("%q", got)
	}
}

func TestCheckTellsEveryFault(t *testing.T) {
	t.Setenv("POINTSMAN_CREDENTIAL_LONELY_HOSTS", "a.example")
	t.Setenv("POINTSMAN_ALLOWED_HOSTS", "https://a.example/path")
	err := clientlib.Config{Credentials: map[string]clientlib.Credential{
		"nowhere": {From: "env:X"},
		"Upper":   {From: "env:X", Hosts: []string{"a.example"}},
		"odd":     {From: "vault:x", Hosts: []string{"a.example", "*.b.example", "c.example:99999x"}},
		"near":    {From: "file:relative", Hosts: []string{"user@a.example"}},
		"double":  {From: "env:X", Source: func(context.Context) (string, error) { return "", nil }, Hosts: []string{"a.example"}},
		"none":    {Hosts: []string{"a.example"}},
	}}.Check()
	if err == nil {
		t.Fatal("no fault")
	}
	for _, want := range []string{
		"no source of a catalog", `credential "nowhere": no hosts`, `credential "Upper": a name is`, `credential "odd": want env:`,
		`"*.b.example" is no host`, `"c.example:99999x" is no host`, `credential "near": want env:`, `"user@a.example" is no host`,
		`credential "lonely": want env:`, `credential "double": has From and Source`, `credential "none": want env:`, `allowed hosts: "https://a.example/path" is no host`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
}

func TestASecretNeverShowsItself(t *testing.T) {
	r := setUp(t, keys)
	a, err := r.Workload("chat").Pick(clientlib.Request{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Abandon()
	s, err := a.Secret(t.Context())
	if err != nil || s.Reveal() != "secret-a" {
		t.Fatalf("%v %v", s, err)
	}
	encoded, err := json.Marshal(map[string]any{"a": s, "b": &s, "c": []clientlib.Secret{s}})
	if err != nil {
		t.Fatal(err)
	}
	var logged strings.Builder
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "s", s, "p", &s)
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "s", s, "p", &s)
	shown := []string{string(encoded), logged.String(), s.String(), fmt.Sprint(s, &s), fmt.Errorf("%w: %v", os.ErrExist, s).Error()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T %v"} {
		shown = append(shown, fmt.Sprintf(verb, s, s), fmt.Sprintf(verb, struct{ S clientlib.Secret }{s}, s), fmt.Sprintf(verb, struct{ s clientlib.Secret }{s}, s), fmt.Sprintf(verb, []any{&s}, s))
	}
	for _, text := range shown {
		if strings.Contains(text, "secret-a") || strings.Contains(text, "7365637265742d61") {
			t.Errorf("shown: %s", text)
		}
	}
}

// A credential that does not fit takes its endpoint out of every pool: that is told, with the cause.
func TestAnEndpointThatCannotBeSentToIsToldWithItsCause(t *testing.T) {
	t.Setenv("TEST_SECRET_one", "secret-one")
	a, b := clienttest.Start("a"), clienttest.Start("b")
	defer a.Close()
	defer b.Close()
	c := clienttest.Pool("chat", a, b)
	c.Endpoints[0].BaseURL, c.Endpoints[0].Credential = "http://127.0.0.1:18002/v1", "one"
	c.Endpoints[1].Credential = "other"
	l := &listener{}
	client := open(t, clientlib.Config{Catalog: c, Observer: l, Credentials: map[string]clientlib.Credential{
		"one": {From: "env:TEST_SECRET_one", Hosts: []string{"127.0.0.1"}}, // no port: 443
	}})
	client.Close()
	causes := map[string]string{}
	for _, e := range l.events {
		if e.Kind == "unusable" {
			causes[e.Endpoint] += e.Reason
		}
	}
	if !strings.Contains(causes["a"], `credential "one" may not be sent to 127.0.0.1:18002`) || !strings.Contains(causes["b"], `credential "other" is not mapped here`) {
		t.Errorf("told %q", causes)
	}
}
