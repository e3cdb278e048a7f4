package hub

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/pointsman/pointsman/clientlib/cert"
)

// Addresses are where children reach a hub's process. Beyond this host nothing is served
// without TLS.
type Addresses struct {
	Listen    string      // TCP, "127.0.0.1:0"; empty: none
	Socket    string      // path of a unix socket; empty: none
	Mode      fs.FileMode // of the socket
	TLS       cert.Files  // of TCP; none: plain text, over loopback
	Mutual    cert.Mutual // whether TLS wants to see certificates
	TokenFile string      // who shows its token over loopback is this user; one that is missing is made; empty: nobody is
}

// Check returns every fault at once.
func (a Addresses) Check() error {
	var faults []error
	if a.Socket == "" && a.Listen == "" {
		faults = append(faults, errors.New("socket, listen: one of them is needed to serve anybody"))
	}
	switch {
	case a.Listen == "":
	case a.TLS.None():
		faults = append(faults, checkLoopback(a.Listen))
	default:
		_, err := a.TLS.Server(a.Mutual)
		faults = append(faults, checkAddress(a.Listen), err)
	}
	if a.Socket != "" && !filepath.IsAbs(a.Socket) {
		faults = append(faults, fmt.Errorf("socket %q: not an absolute path", a.Socket))
	}
	return errors.Join(faults...)
}

func checkAddress(address string) error {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return fmt.Errorf("listen %q: %w", address, err)
	}
	return nil
}

func checkLoopback(address string) error {
	if err := checkAddress(address); err != nil {
		return err
	}
	if !cert.Here(address) {
		return fmt.Errorf("listen %q: not a loopback address, and there is no TLS: give a certificate, its key and the CA of those who come in (-tls-cert, -tls-key, -tls-ca)", address)
	}
	return nil
}

// Credentials say who comes in: by TLS, or by the socket. It tells failed, which must not
// block, of handshakes that failed.
func (a Addresses) Credentials(failed func(from string, err error)) (credentials.TransportCredentials, error) {
	if a.Listen == "" || a.TLS.None() {
		return cert.Accept(nil, failed), nil
	}
	tls, err := a.TLS.Server(a.Mutual)
	if err != nil {
		return nil, err
	}
	return cert.Accept(tls, failed), nil
}

// Token is this user's, for those who come over loopback; empty: nobody does.
func (a Addresses) Token() (string, error) {
	if a.Listen == "" || a.TokenFile == "" {
		return "", nil
	}
	return cert.OwnToken(a.TokenFile)
}

// Open listens, on the TCP address first.
func (a Addresses) Open() ([]net.Listener, error) {
	var out []net.Listener
	if a.Listen != "" {
		l, err := net.Listen("tcp", a.Listen)
		if err != nil {
			return nil, fmt.Errorf("listen: %w", err)
		}
		out = append(out, l)
	}
	if a.Socket != "" {
		l, err := listenUnix(a.Socket, a.Mode)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("socket %s: %w", a.Socket, err), CloseAll(out))
		}
		out = append(out, l)
	}
	return out, nil
}

// CloseAll closes every listener.
func CloseAll(listeners []net.Listener) error {
	var errs []error
	for _, l := range listeners {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// socket is a unix socket with the lock that keeps others from taking its place.
type socket struct {
	net.Listener
	lock *os.File
}

func (s *socket) Close() error { return errors.Join(s.Listener.Close(), s.lock.Close()) }

// listenUnix makes the folder if it is missing, for this user alone, and takes the place
// of a socket that nobody answers on. Of processes that start at once, one gets it: without
// a lock the others would remove what it just made.
func listenUnix(path string, mode fs.FileMode) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another process serves it: %w", err), lock.Close())
	}
	l, err := replace(path, mode)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &socket{l, lock}, nil
}

// replace listens in place of a stale socket.
func replace(path string, mode fs.FileMode) (net.Listener, error) {
	if err := removeStale(path); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, mode); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// removeStale removes a socket that nobody answers on, and nothing else.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("a file that is no socket is in its place")
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		return errors.Join(errors.New("another process serves it"), conn.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return os.Remove(path)
}
