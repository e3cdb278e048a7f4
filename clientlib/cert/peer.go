package cert

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"strings"
	"time"
	"unicode"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
)

// Peer is what a connection tells of its other end.
type Peer struct {
	Identity string    // spiffe://…, cn/NAME, uid/N; empty: nothing tells
	Expires  time.Time // when the certificate that says so does, or who signed it; zero: never
	Here     bool      // on this host, by a unix socket or over loopback
	Secure   bool      // nobody in between reads along
	Host     string    // its address; "unix": a socket
	UID      int       // of who is at a unix socket; else -1
}

const maxIdentity = 256 // bytes

// PeerOf is the peer of a call that is served with Accept. The context of others tells nothing.
func PeerOf(ctx context.Context) Peer {
	p, ok := peer.FromContext(ctx)
	if !ok || p.Addr == nil {
		return Peer{UID: -1}
	}
	out := Peer{Host: hostOf(p.Addr), Here: loopback(p.Addr), UID: -1}
	switch info := p.AuthInfo.(type) {
	case user:
		out.Identity, out.UID, out.Here, out.Secure = UserIdentity(int(info.uid)), int(info.uid), true, true
	case credentials.TLSInfo:
		out.Secure = true
		if len(info.State.VerifiedChains) > 0 {
			out.Identity, out.Expires = identityOf(info.State.PeerCertificates[0]), endOf(info.State.VerifiedChains)
		}
	}
	return out
}

// endOf is when the last of the chains that speak for a certificate ends: each does with the first of
// its certificates.
func endOf(chains [][]*x509.Certificate) (last time.Time) {
	for _, chain := range chains {
		end := chain[0].NotAfter
		for _, c := range chain {
			if c.NotAfter.Before(end) {
				end = c.NotAfter
			}
		}
		if end.After(last) {
			last = end
		}
	}
	return last
}

// UserIdentity is a user of a host.
func UserIdentity(uid int) string { return fmt.Sprintf("uid/%d", uid) }

// identityOf is whom a certificate names: by its SPIFFE URI, of which there may be one only,
// else by its common name.
func identityOf(c *x509.Certificate) string {
	var spiffe []string
	for _, u := range c.URIs {
		if strings.EqualFold(u.Scheme, "spiffe") {
			spiffe = append(spiffe, u.String())
		}
	}
	switch {
	case len(spiffe) == 1 && printable(spiffe[0]):
		return spiffe[0]
	case len(spiffe) > 0 || c.Subject.CommonName == "" || !printable(c.Subject.CommonName):
		return ""
	}
	return "cn/" + c.Subject.CommonName
}

func printable(s string) bool {
	return len(s) <= maxIdentity && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsGraphic(r) || r == unicode.ReplacementChar })
}

// Here tells whether an address, unix:///path or host:port, is on this host.
func Here(target string) bool {
	if strings.HasPrefix(target, "unix:") {
		return true
	}
	host, _, err := net.SplitHostPort(target)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}
