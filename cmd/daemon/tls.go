package daemon

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"

	"github.com/pointsman/pointsman/clientlib/cert"
)

// encrypted is how pages are served beyond loopback. The files are read at each handshake, of
// which there are few; those that cannot be used change nothing.
func encrypted(f cert.Files) (*tls.Config, error) {
	if f.Cert == "" || f.Key == "" {
		return nil, errors.New("beyond loopback pages go by TLS: give -tls-cert and -tls-key")
	}
	first, err := load(f)
	if err != nil {
		return nil, err
	}
	var good atomic.Pointer[tls.Config]
	good.Store(first)
	return &tls.Config{MinVersion: tls.VersionTLS13, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if c, err := load(f); err == nil {
			good.Store(c)
		}
		return good.Load(), nil
	}}, nil
}

func load(f cert.Files) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate %s, key %s: %w", f.Cert, f.Key, err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, SessionTicketsDisabled: true}
	if f.CA == "" {
		return c, nil
	}
	c.ClientAuth = tls.VerifyClientCertIfGiven // kubelets have none to show
	if f.CA == cert.SystemRoots {
		return c, nil
	}
	pem, err := os.ReadFile(f.CA)
	if err != nil {
		return nil, err
	}
	if c.ClientCAs = x509.NewCertPool(); !c.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("CA %s: no certificate in it", f.CA)
	}
	return c, nil
}

// known lets those in who showed a certificate.
func known(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
			http.Error(w, "show a certificate that -tls-ca signed", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// anybody lets all in.
func anybody(h http.Handler) http.Handler { return h }
