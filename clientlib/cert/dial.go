package cert

import (
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// Dialer is how servers are reached: a unix socket as it is; TCP by TLS, or, when no files are
// named, in plain text on this host. The zero Dialer has no files and no token.
type Dialer struct {
	tls   credentials.TransportCredentials // nil: no files are named
	token *tokenFile                       // nil: none
}

// NewDialer reads the files, and takes a token for each call from tokenFile, if that is named.
func NewDialer(f Files, tokenFile string) (*Dialer, error) {
	d := &Dialer{token: newTokenFile(tokenFile)}
	if f.None() {
		return d, nil
	}
	var err error
	d.tls, err = f.Client("")
	return d, err
}

// Options are for one server, unix:///path or host:port. Without files another host has no
// transport: grpc refuses to dial it, unless another option brings one.
func (d *Dialer) Options(target string) []grpc.DialOption {
	var out []grpc.DialOption
	plain := strings.HasPrefix(target, "unix:") || d.tls == nil && Here(target)
	if d.token != nil {
		out = append(out, grpc.WithPerRPCCredentials(bearer{d.token, plain}))
	}
	switch {
	case plain:
		out = append(out, grpc.WithTransportCredentials(insecure.NewCredentials()))
	case d.tls != nil:
		out = append(out, grpc.WithTransportCredentials(d.tls))
	}
	return out
}

// Dial is a new Dialer's Options, for one connection.
func Dial(target string, f Files, tokenFile string) ([]grpc.DialOption, error) {
	d, err := NewDialer(f, tokenFile)
	if err != nil {
		return nil, err
	}
	return d.Options(target), nil
}
