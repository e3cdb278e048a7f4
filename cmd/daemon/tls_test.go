package daemon

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/pointsman/pointsman/clientlib/cert"
)

// authority signs certificates for a test.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	last int64
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	a.cert, a.key = a.sign("ca", true)
	return a
}

// sign makes name.pem and name-key.pem.
func (a *authority) sign(name string, ca bool) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	a.last++
	c := &x509.Certificate{
		SerialNumber: big.NewInt(a.last), Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: ca, BasicConstraintsValid: true,
	}
	parent, signer := a.cert, a.key
	if ca {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	if err != nil {
		a.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(name+".pem", "CERTIFICATE", der)
	a.write(name+"-key.pem", "PRIVATE KEY", secret)
	made, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return made, key
}

func (a *authority) write(name, kind string, der []byte) {
	if err := os.WriteFile(a.file(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// client trusts the authority, and shows a certificate if it is named.
func (a *authority) client(shows string) *http.Client {
	a.t.Helper()
	c := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "localhost"}
	c.RootCAs.AddCert(a.cert)
	if shows != "" {
		pair, err := tls.LoadX509KeyPair(a.file(shows+".pem"), a.file(shows+"-key.pem"))
		if err != nil {
			a.t.Fatal(err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: c}}
}

func TestBeyondLoopbackPagesGoByTLS(t *testing.T) {
	a := newAuthority(t)
	a.sign("server", false)
	a.sign("prometheus", false)
	files := cert.Files{CA: a.file("ca.pem"), Cert: a.file("server.pem"), Key: a.file("server-key.pem")}
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
	for _, c := range []struct {
		page, shows string
		want        int
	}{
		{"/healthz", "", http.StatusOK}, // a kubelet has no certificate
		{"/readyz", "", http.StatusOK},
		{"/metrics", "", http.StatusForbidden},
		{"/metrics", "prometheus", http.StatusOK},
	} {
		answer, err := a.client(c.shows).Get("https://" + at + c.page)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.want {
			t.Errorf("%s, showing %q: %d, want %d", c.page, c.shows, answer.StatusCode, c.want)
		}
	}
	other := newAuthority(t)
	other.sign("prometheus", false)
	stranger := other.client("prometheus")
	stranger.Transport.(*http.Transport).TLSClientConfig.RootCAs.AddCert(a.cert)
	if answer, err := stranger.Get("https://" + at + "/metrics"); err == nil {
		t.Errorf("who shows another CA's certificate gets %d", answer.StatusCode)
	}
}

func TestNewCertificatesAreShownAtOnceAndBadOnesNever(t *testing.T) {
	a := newAuthority(t)
	first, _ := a.sign("server", false)
	files := cert.Files{Cert: a.file("server.pem"), Key: a.file("server-key.pem")}
	c, err := encrypted(files)
	if err != nil {
		t.Fatal(err)
	}
	shown := func() string {
		now, err := c.GetConfigForClient(nil)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(now.Certificates[0].Leaf.SerialNumber)
	}
	if got := shown(); got != fmt.Sprint(first.SerialNumber) {
		t.Errorf("shows %s first", got)
	}
	second, _ := a.sign("server", false)
	if got := shown(); got != fmt.Sprint(second.SerialNumber) {
		t.Errorf("shows %s after the second was written", got)
	}
	if err := os.WriteFile(files.Cert, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := shown(); got != fmt.Sprint(second.SerialNumber) {
		t.Errorf("shows %s while a file is spoiled", got)
	}
	if _, err := encrypted(files); err == nil {
		t.Error("it starts with a spoiled file")
	}
	files.CA = a.file("server-key.pem")
	a.sign("server", false)
	if _, err := encrypted(files); err == nil || !strings.Contains(err.Error(), "no certificate in it") {
		t.Errorf("it starts with a key for a CA: %v", err)
	}
}
