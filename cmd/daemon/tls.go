package daemon

import (
	"crypto/tls"
	"errors"
	"net/http"

	"github.com/pointsman/pointsman/clientlib/cert"
)

// encrypted is how pages are served beyond loopback: who has a certificate shows it; kubelets have none.
func encrypted(f cert.Files) (*tls.Config, error) {
	if f.Cert == "" || f.Key == "" {
		return nil, errors.New("beyond loopback pages go by TLS: give -tls-cert and -tls-key")
	}
	return f.ServerTLS(cert.Optional)
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
