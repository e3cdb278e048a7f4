package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"github.com/pointsman/pointsman/clientlib/cert"
)

// checkEtcd says what is wrong with the files that etcd is reached with.
func checkEtcd(f cert.Files) error {
	_, err := etcdTLS(f)
	return err
}

// etcdTLS is how etcd is reached: nil without files. The certificate is read at each handshake,
// the CA once.
func etcdTLS(f cert.Files) (*tls.Config, error) {
	if f.None() {
		return nil, nil
	}
	if (f.Cert == "") != (f.Key == "") {
		return nil, errors.New("etcd: a certificate and its key go together, and one is missing (-etcd-cert, -etcd-key)")
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.Cert != "" {
		show := func() (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
			if err != nil {
				return nil, fmt.Errorf("etcd: certificate %s, key %s: %w", f.Cert, f.Key, err)
			}
			return &pair, nil
		}
		if _, err := show(); err != nil {
			return nil, err
		}
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return show() }
	}
	if f.CA == "" || f.CA == cert.SystemRoots {
		return c, nil
	}
	pem, err := os.ReadFile(f.CA)
	if err != nil {
		return nil, fmt.Errorf("etcd: CA: %w", err)
	}
	if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("etcd: CA %s: no certificate in it", f.CA)
	}
	return c, nil
}
