package daemon

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/pointsman/pointsman/clientlib/cert"
	"github.com/pointsman/pointsman/test/ca"
)

// browser believes a CA, and shows a certificate if it has one.
func browser(t *testing.T, f cert.Files) *http.Client {
	t.Helper()
	c, err := f.ClientTLS()
	if err != nil {
		t.Fatal(err)
	}
	c.ServerName = "localhost"
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: c}}
}

func TestBeyondLoopbackPagesGoByTLS(t *testing.T) {
	authority := ca.New(t)
	files := authority.Issue(t, "server", ca.Leaf{Name: "server"})
	prometheus := authority.Issue(t, "prometheus", ca.Leaf{Name: "prometheus"})
	pages := newPages()
	pages.show(&Running{})
	server, err := pages.encrypted(files)
	if err != nil {
		t.Fatal(err)
	}
	s := &servers{log: hclog.NewNullLogger()}
	at := free(t)
	if err := s.serve(at, server); err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	nobody := cert.Files{CA: authority.Path()}
	for _, c := range []struct {
		page  string
		shows cert.Files
		want  int
	}{
		{"/healthz", nobody, http.StatusOK}, // a kubelet has no certificate
		{"/readyz", nobody, http.StatusOK},
		{"/metrics", nobody, http.StatusForbidden},
		{"/metrics", prometheus, http.StatusOK},
	} {
		answer, err := browser(t, c.shows).Get("https://" + at + c.page)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.want {
			t.Errorf("%s, showing %q: %d, want %d", c.page, c.shows.Cert, answer.StatusCode, c.want)
		}
	}
	stranger := ca.New(t).Issue(t, "prometheus", ca.Leaf{Name: "prometheus"})
	stranger.CA = authority.Path()
	if answer, err := browser(t, stranger).Get("https://" + at + "/metrics"); err == nil {
		t.Errorf("who shows another CA's certificate gets %d", answer.StatusCode)
	}
}

// A replica may take tokens alone, and have no CA: nobody has a certificate then.
func TestWithoutACAMetricsAreShownToNobodyBeyondLoopback(t *testing.T) {
	authority := ca.New(t)
	shown := authority.Issue(t, "prometheus", ca.Leaf{Name: "prometheus"})
	alone := shown
	alone.CA = ""
	server, err := newPages().encrypted(alone)
	if err != nil {
		t.Fatal(err)
	}
	s := &servers{log: hclog.NewNullLogger()}
	at := free(t)
	if err := s.serve(at, server); err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	for page, want := range map[string]int{"/metrics": http.StatusForbidden, "/healthz": http.StatusOK} {
		answer, err := browser(t, shown).Get("https://" + at + page)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %d, want %d", page, answer.StatusCode, want)
		}
	}
}

func TestASpoiledCertificateOrCAIsNoStart(t *testing.T) {
	files := ca.New(t).Issue(t, "server", ca.Leaf{Name: "server"})
	files.CA = files.Key
	if _, err := encrypted(files); err == nil || !strings.Contains(err.Error(), "no certificate in it") {
		t.Errorf("it starts with a key for a CA: %v", err)
	}
	files.CA = ""
	if err := os.WriteFile(files.Cert, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := encrypted(files); err == nil {
		t.Error("it starts with a spoiled file")
	}
}
