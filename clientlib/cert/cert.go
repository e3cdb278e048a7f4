// Package cert says how two processes know each other: by certificates in files that are
// read again when they change, by tokens in files, and by the user at the other end of a
// unix socket. The library, the agent, the control plane and the command line use it.
//
// It says whose a connection is; it never decides what that identity may do.
package cert

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"

	"google.golang.org/grpc/credentials"
)

// SystemRoots as Files.CA believes whom the system believes.
const SystemRoots = "system"

const maxFile = 1 << 20 // bytes of one file

// Files are paths of PEM files. They are read again when they change: at a handshake, at
// most once a second. Files that cannot be used then change nothing.
type Files struct {
	CA   string // whose signature is believed; empty: as a client the system's roots, as a server nobody's
	Cert string // what is shown, with its chain; empty: nothing
	Key  string
	Said func(error) // hears once that new files cannot be used; must not block; nil: nobody does
}

// None says that no file is named.
func (f Files) None() bool { return f.CA == "" && f.Cert == "" && f.Key == "" }

// Check reads the files and returns every fault at once.
func (f Files) Check() error {
	_, err := f.load()
	return err
}

// Mutual says whether a server wants to see certificates.
type Mutual int

const (
	Optional Mutual = iota // one that is shown must be good
	Required
)

// Client is how to reach a server, by this name in its certificate; empty: as it is dialled.
func (f Files) Client(serverName string) (credentials.TransportCredentials, error) {
	return offered(newLive(f, func(m material) *tls.Config {
		return &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: m.roots, Certificates: m.shown(), ServerName: serverName}
	}))
}

// ClientTLS is the same for who speaks TLS without gRPC's credentials. Whom it believes is what CA holds now.
func (f Files) ClientTLS() (*tls.Config, error) {
	l, err := newLive(f, func(m material) *tls.Config { return &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: m.roots} })
	if err != nil {
		return nil, err
	}
	c := l.latest.Load().config
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if pair := l.now().of.pair; pair != nil {
			return pair, nil
		}
		return &tls.Certificate{}, nil // nothing is shown
	}
	return c, nil
}

// Server is how connections are served. It needs Cert and Key, and CA to ask for certificates.
func (f Files) Server(mutual Mutual) (credentials.TransportCredentials, error) {
	config, err := f.serving(mutual)
	if err != nil {
		return nil, err
	}
	return offered(newLive(f, config))
}

// ServerTLS is the same for who speaks TLS without gRPC's credentials.
func (f Files) ServerTLS(mutual Mutual) (*tls.Config, error) {
	config, err := f.serving(mutual)
	if err != nil {
		return nil, err
	}
	l, err := newLive(f, config)
	if err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return l.now().config, nil
	}}, nil
}

// offered is no credentials at all where there are none: not an interface that holds nothing.
func offered(l *live, err error) (credentials.TransportCredentials, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (f Files) serving(mutual Mutual) (func(material) *tls.Config, error) {
	if f.Cert == "" || f.Key == "" {
		return nil, errors.New("TLS: a server needs a certificate and its key")
	}
	ask := tls.NoClientCert
	switch {
	case mutual == Required && f.CA == "":
		return nil, errors.New("TLS: certificates are required of clients: name the CA that signs them")
	case mutual == Required:
		ask = tls.RequireAndVerifyClientCert
	case f.CA != "":
		ask = tls.VerifyClientCertIfGiven
	}
	return func(m material) *tls.Config {
		return &tls.Config{
			MinVersion: tls.VersionTLS13, ClientCAs: m.roots, Certificates: m.shown(), ClientAuth: ask,
			SessionTicketsDisabled: true, // a certificate is looked at each time
		}
	}, nil
}

// material is what the files held.
type material struct {
	bytes [3][]byte // CA, Cert, Key
	roots *x509.CertPool
	pair  *tls.Certificate
}

func (m material) shown() []tls.Certificate {
	if m.pair == nil {
		return nil
	}
	return []tls.Certificate{*m.pair}
}

func (f Files) load() (material, error) {
	m, err := f.read()
	if err != nil {
		return m, err
	}
	return m, m.parse(f)
}

func (f Files) read() (m material, err error) {
	var errs []error
	if (f.Cert == "") != (f.Key == "") {
		errs = append(errs, errors.New("TLS: a certificate and its key go together, and one is missing"))
	}
	for i, path := range []string{f.CA, f.Cert, f.Key} {
		if path == "" || i == 0 && path == SystemRoots {
			continue
		}
		data, err := readBounded(path)
		if err != nil {
			errs = append(errs, fmt.Errorf("TLS: %w", err))
		}
		m.bytes[i] = data
	}
	return m, errors.Join(errs...)
}

func (m *material) parse(f Files) error {
	var errs []error
	if m.bytes[0] != nil {
		if m.roots = x509.NewCertPool(); !m.roots.AppendCertsFromPEM(m.bytes[0]) {
			errs = append(errs, fmt.Errorf("TLS: CA %s: no certificate in it", f.CA))
		}
	}
	if m.bytes[1] != nil {
		pair, err := tls.X509KeyPair(m.bytes[1], m.bytes[2])
		if err != nil {
			errs = append(errs, fmt.Errorf("TLS: certificate %s, key %s: %w", f.Cert, f.Key, err))
		}
		m.pair = &pair
	}
	return errors.Join(errs...)
}

func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s: above %d bytes", path, maxFile)
	}
	return data, err
}
