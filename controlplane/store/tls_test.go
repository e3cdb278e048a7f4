package store

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
)

func TestAnEtcdThatAsksForACertificateIsReachedWithOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pool, own := certificate(t, dir)
	address := "https" + freeURLs(t, 1)[0][len("http"):]
	startExternalWith(t, func(c *embed.Config) {
		u, err := url.Parse(address)
		must(t, err)
		c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{*u}, []url.URL{*u}
		file := func(name string) string { return filepath.Join(dir, name) }
		c.ClientTLSInfo = transport.TLSInfo{CertFile: file("cert"), KeyFile: file("key"), TrustedCAFile: file("cert"), ClientCertAuth: true}
	})
	for name, c := range map[string]struct {
		tls *tls.Config
		ok  bool
	}{
		"with one":      {&tls.Config{RootCAs: pool, Certificates: []tls.Certificate{own}}, true},
		"with none":     {&tls.Config{RootCAs: pool}, false},
		"of a stranger": {&tls.Config{Certificates: []tls.Certificate{own}}, false},
		"in plain text": {nil, false},
	} {
		at := address
		if c.tls == nil {
			at = "http" + address[len("https"):]
		}
		s, err := Open(t.Context(), Config{Endpoints: []string{at}, TLS: c.tls})
		must(t, err)
		defer s.Close()
		if !c.ok {
			s.opTimeout = 200 * time.Millisecond
		}
		if _, err := s.Head(t.Context(), ns); (err == nil) != c.ok || err != nil && !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// certificate writes one that signed itself, good for both ends.
func certificate(t *testing.T, dir string) (*x509.CertPool, tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	secret := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	must(t, os.WriteFile(filepath.Join(dir, "cert"), cert, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "key"), secret, 0o600))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	own, err := tls.X509KeyPair(cert, secret)
	must(t, err)
	return pool, own
}
