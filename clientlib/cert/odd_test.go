package cert_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"github.com/pointsman/pointsman/clientlib/cert"
	"github.com/pointsman/pointsman/test/ca"
)

// signer signs what no CA for trials would.
type signer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// sign makes a certificate by a signer, or by itself.
func (s *signer) sign(t *testing.T, template *x509.Certificate) *signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.NotBefore = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour)
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(time.Hour)
	}
	by := s
	if by == nil {
		by = &signer{template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.cert, key.Public(), by.key)
	if err != nil {
		t.Fatal(err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &signer{made, key}
}

// files writes a chain, the leaf first, and its key.
func files(t *testing.T, root *signer, chain ...*signer) cert.Files {
	t.Helper()
	dir := t.TempDir()
	f := cert.Files{CA: filepath.Join(dir, "ca"), Cert: filepath.Join(dir, "cert"), Key: filepath.Join(dir, "key")}
	var all []byte
	for _, c := range chain {
		all = append(all, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.cert.Raw})...)
	}
	key, err := x509.MarshalPKCS8PrivateKey(chain[0].key)
	if err != nil {
		t.Fatal(err)
	}
	for path, data := range map[string][]byte{
		f.CA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.cert.Raw}), f.Cert: all,
		f.Key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
	} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func authority(name string) *x509.Certificate {
	return &x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, NotAfter: time.Now().Add(24 * time.Hour)}
}

func client(name string) *x509.Certificate {
	return &x509.Certificate{Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
}

func TestOddCertificatesAreTakenForWhatTheySayOrNotAtAll(t *testing.T) {
	root := (*signer)(nil).sign(t, authority("root"))
	soon := authority("soon")
	soon.NotAfter = time.Now().Add(20 * time.Minute).Truncate(time.Second)
	over := authority("over")
	over.NotAfter = time.Now().Add(-time.Minute)
	middle, ended, impostor := root.sign(t, soon), root.sign(t, over), root.sign(t, client("impostor"))
	server := client("s")
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	spiffe := client("")
	spiffe.URIs = []*url.URL{{Scheme: "SPIFFE", Host: "example.org", Path: "/a"}, {Scheme: "https", Host: "other.example"}}

	own := ca.New(t).Issue(t, "server", ca.Leaf{Name: "server"})
	own.CA = files(t, root, root).CA
	creds, err := own.Server(cert.Required)
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, "tcp", "127.0.0.1:0", creds)
	ofServer := filepath.Join(filepath.Dir(own.Cert), "ca.pem")
	leaf := middle.sign(t, client("behind"))
	for name, c := range map[string]struct {
		shows cert.Files
		want  string // empty: not taken
		until time.Time
	}{
		"signed by one that the CA signed":      {files(t, root, leaf, middle), "cn/behind", soon.NotAfter},
		"without the one in between":            {files(t, root, leaf), "", time.Time{}},
		"signed by one that ended":              {files(t, root, ended.sign(t, client("late")), ended), "", time.Time{}},
		"signed by one that may not sign":       {files(t, root, impostor.sign(t, client("forged")), impostor), "", time.Time{}},
		"for servers alone":                     {files(t, root, root.sign(t, server)), "", time.Time{}},
		"of everybody below, by its name":       {files(t, root, root.sign(t, client("*"))), "cn/*", time.Time{}},
		"SPIFFE beside another URI, shouted":    {files(t, root, root.sign(t, spiffe)), "spiffe://example.org/a", time.Time{}},
		"a name that looks like another kind's": {files(t, root, root.sign(t, client("../uid/0"))), "cn/../uid/0", time.Time{}},
	} {
		c.shows.CA = ofServer
		p, err := s.call(t, c.shows, "")
		if (err == nil) != (c.want != "") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p.Identity != c.want || !c.until.IsZero() && !p.Expires.Equal(c.until) {
			t.Errorf("%s is %q until %v, want %q, %v", name, p.Identity, p.Expires, c.want, c.until)
		}
	}
}

// A stream outlives no certificate of its chain.
func TestACertificateEndsWithWhoSignedIt(t *testing.T) {
	at := func(d time.Duration) *x509.Certificate {
		return &x509.Certificate{Subject: pkix.Name{CommonName: "x"}, NotAfter: time.Unix(0, 0).Add(d)}
	}
	leaf := at(9)
	for name, c := range map[string]struct {
		chains [][]*x509.Certificate
		want   time.Duration
	}{
		"the leaf first":        {[][]*x509.Certificate{{leaf, at(20), at(30)}}, 9},
		"one in between first":  {[][]*x509.Certificate{{leaf, at(5), at(30)}}, 5},
		"the better of two":     {[][]*x509.Certificate{{leaf, at(5)}, {leaf, at(7)}}, 7},
		"the CA before all its": {[][]*x509.Certificate{{leaf, at(20), at(3)}}, 3},
	} {
		info := credentials.TLSInfo{State: tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}, VerifiedChains: c.chains}}
		p := cert.PeerOf(peer.NewContext(context.Background(), &peer.Peer{Addr: fakeAddr{}, AuthInfo: info}))
		if got := p.Expires.Sub(time.Unix(0, 0)); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

type fakeAddr struct{}

func (fakeAddr) Network() string { return "tcp" }
func (fakeAddr) String() string  { return "198.51.100.1:1" }

// Kubernetes mounts links into a folder that one link names; that link is replaced.
func TestFilesThatKubernetesReplacesAreReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := (*signer)(nil).sign(t, authority("root"))
		mount := t.TempDir()
		put := func(version, name string) {
			from := files(t, root, root.sign(t, client(name)))
			must(t, os.Rename(filepath.Dir(from.Cert), filepath.Join(mount, version)))
			must(t, os.Symlink(version, filepath.Join(mount, "..next")))
			must(t, os.Rename(filepath.Join(mount, "..next"), filepath.Join(mount, "..data")))
		}
		put("..1", "first")
		for _, name := range []string{"ca", "cert", "key"} {
			must(t, os.Symlink(filepath.Join("..data", name), filepath.Join(mount, name)))
		}
		own := ca.New(t).Issue(t, "server", ca.Leaf{Name: "server"})
		shows, err := cert.Files{CA: own.CA, Cert: filepath.Join(mount, "cert"), Key: filepath.Join(mount, "key")}.Client("")
		must(t, err)
		own.CA = filepath.Join(mount, "ca")
		server := mutual(t, own, cert.Required)
		for _, name := range []string{"first", "second"} {
			if name == "second" {
				put("..2", name)
				time.Sleep(time.Second + time.Millisecond)
			}
			if seen, _ := shake(t, server, shows); seen != name {
				t.Errorf("the server saw %q, want %s", seen, name)
			}
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
