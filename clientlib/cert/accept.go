package cert

import (
	"context"
	"errors"
	"fmt"
	"net"

	"google.golang.org/grpc/credentials"
)

// Accept is how a server knows its peers: those of a unix socket by their user, those of TCP by
// TLS; without (nil) they are served in plain text when they come over loopback, as nobody. It
// tells failed of handshakes that failed; nil: nobody.
func Accept(tls credentials.TransportCredentials, failed func(from string, err error)) credentials.TransportCredentials {
	return &accept{tls: tls, failed: failed}
}

type accept struct {
	tls    credentials.TransportCredentials
	failed func(string, error)
}

// ServerHandshake says who came.
func (a *accept) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	out, info, err := a.shake(conn)
	if err != nil && a.failed != nil {
		a.failed(hostOf(conn.RemoteAddr()), err)
	}
	return out, info, err
}

func (a *accept) shake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if conn.LocalAddr().Network() == "unix" {
		uid, err := userOf(conn)
		if err != nil {
			return nil, nil, fmt.Errorf("who is at the socket: %w", err)
		}
		return conn, user{credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}, uid}, nil
	}
	if a.tls != nil {
		return a.tls.ServerHandshake(conn)
	}
	if !loopback(conn.RemoteAddr()) {
		return nil, nil, errors.New("not over loopback, and there is no TLS")
	}
	return conn, plain{credentials.CommonAuthInfo{SecurityLevel: credentials.NoSecurity}}, nil
}

// ClientHandshake is for nobody.
func (*accept) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("bug: these credentials are a server's")
}

// Info tells of no one protocol: each listener has its own.
func (*accept) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "pointsman"}
}

// Clone is the same: there is nothing to change.
func (a *accept) Clone() credentials.TransportCredentials { return a }

// OverrideServerName is for nobody.
func (*accept) OverrideServerName(string) error {
	return errors.New("bug: these credentials are a server's")
}

// user is who is at the other end of a unix socket.
type user struct {
	credentials.CommonAuthInfo
	uid uint32
}

// AuthType names how it is known.
func (user) AuthType() string { return "unix" }

// plain is who comes over loopback: anybody of this host.
type plain struct{ credentials.CommonAuthInfo }

// AuthType names how it is known.
func (plain) AuthType() string { return "loopback" }

func loopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

func hostOf(a net.Addr) string {
	if host, _, err := net.SplitHostPort(a.String()); err == nil {
		return host
	}
	return a.Network()
}
