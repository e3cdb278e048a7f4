// Package controlplane runs one replica of the control plane: it takes catalogs and
// keeps them in etcd, sends them to whoever subscribes, gathers health from the fleet,
// and decides for it. Any number of replicas share one etcd: one of them leads, the others
// pass on what it says. It holds nothing durable itself, and no request passes through it.
package controlplane

import (
	"cmp"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/pointsman/pointsman/agent/hub"
	"github.com/pointsman/pointsman/clientlib/cert"
	"github.com/pointsman/pointsman/controlplane/rpc"
	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// DefaultNamespace is served when Config names none.
const DefaultNamespace = rpc.DefaultNamespace

// Where a replica leaves the token of its user, unless told otherwise: in its data's folder, or,
// without one, where the command line looks.
const (
	TokenName        = "token"
	DefaultTokenFile = "/run/pointsman/controlplane.token"
)

// Config says where a replica listens and where its etcd is.
type Config struct {
	Listen        string      // host:port, beyond loopback by TLS; empty: no TCP
	Socket        string      // path of a unix socket; empty: none
	EtcdEndpoints []string    // a cluster; or
	EtcdTLS       *tls.Config // to EtcdEndpoints; nil: plain text
	DataDir       string      // one member inside this process
	Namespace     string      // empty: DefaultNamespace
	Version       string      // said in status
	Logger        hclog.Logger
	Peer
}

// Peer is what a replica is to the others, of which one leads.
type Peer struct {
	Name      string     // among them; empty: where they reach it
	Advertise string     // host:port, or a socket as unix:///path, where they reach it; empty: where it listens
	TLS       cert.Files // what it serves with, and shows to the one that leads; none: plain text on this host
	TokenFile string     // holds the token that it shows to the one that leads; empty: that of this host's user
	// LocalToken is the path of a file of mode 0600, made when it is missing, whose token this
	// host's own user shows over loopback; empty: DataDir's, or DefaultTokenFile.
	LocalToken string
}

// Check returns every fault at once.
func (c Config) Check() error {
	etcd := c.store()
	etcd.Namespace = "" // its own fault below
	return errors.Join(c.addresses().Check(), etcd.Check(), c.checkNamespace(), c.checkPeer())
}

func (c Config) checkNamespace() error {
	if c.Namespace == "" {
		return nil
	}
	return store.CheckNamespace(c.Namespace)
}

// checkPeer wants an address that the other replicas can use.
func (c Config) checkPeer() error {
	var errs []error
	if c.Advertise != "" && !reachable(c.Advertise) {
		errs = append(errs, fmt.Errorf("advertise %q: want host:port or unix:///path", c.Advertise))
	}
	if c.Advertise == "" && len(c.EtcdEndpoints) > 0 && wildcard(c.Listen) {
		errs = append(errs, fmt.Errorf("advertise: missing: other replicas cannot reach this one at %q", c.Listen))
	}
	if len(c.Name) > maxName {
		errs = append(errs, fmt.Errorf("name: %d bytes, at most %d", len(c.Name), maxName))
	}
	return errors.Join(errs...)
}

const maxName = 256 // bytes, as the hub takes them

// reachable tells whether an address names a place.
func reachable(address string) bool {
	if path, ok := strings.CutPrefix(address, "unix://"); ok {
		return strings.HasPrefix(path, "/") && path != "/"
	}
	host, port, err := net.SplitHostPort(address)
	return err == nil && host != "" && port != "" && port != "0" && !wildcard(address)
}

// wildcard tells whether an address is of all of a host's interfaces: of no place elsewhere.
func wildcard(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "" || err == nil && ip.IsUnspecified()
}

// candidate is this replica as the others see it; at is where it listens first.
func (c Config) candidate(at net.Addr) store.Candidate {
	address := c.Advertise
	if address == "" {
		address = at.String()
		if at.Network() == "unix" {
			address = "unix://" + address
		}
	}
	return store.Candidate{Replica: cmp.Or(c.Name, address), Address: address}
}

// store is where etcd is.
func (c Config) store() store.Config {
	return store.Config{Endpoints: c.EtcdEndpoints, TLS: c.EtcdTLS, DataDir: c.DataDir, Namespace: c.Namespace, Audited: c.audited}
}

// audited logs what people did, with the hash of its record: a chain that was made anew in the
// store has others.
func (c Config) audited(r *pb.AuditRecord, hash []byte) {
	c.Logger.Named("audit").Info(r.GetVerb(), "number", r.GetNumber(), "subject", r.GetSubject(), "actor", r.GetActor(),
		"generation", r.GetGeneration(), "hash", hex.EncodeToString(hash))
}

// peers is how other replicas are reached.
func (c Config) peers() (*cert.Dialer, error) { return cert.NewDialer(c.TLS, c.peerToken()) }

// addresses are this host's. Only this user may connect to the socket: whoever can, may
// publish.
func (c Config) addresses() hub.Addresses {
	return hub.Addresses{Listen: c.Listen, Socket: c.Socket, Mode: 0o600, TLS: c.TLS, TokenFile: c.tokenFile()}
}

// tokenFile is where the token of this host's own user is.
func (c Config) tokenFile() string {
	switch {
	case c.LocalToken != "":
		return c.LocalToken
	case c.DataDir != "":
		return filepath.Join(c.DataDir, TokenName)
	}
	return DefaultTokenFile
}

// peerToken is the file of what this replica shows to one that leads. A socket needs none.
func (c Config) peerToken() string {
	if c.TokenFile == "" && c.TLS.None() && c.Listen != "" {
		return c.tokenFile()
	}
	return c.TokenFile
}

func (c Config) withDefaults() Config {
	if c.Namespace == "" {
		c.Namespace = DefaultNamespace
	}
	if c.Logger == nil {
		c.Logger = hclog.NewNullLogger()
	}
	if c.TLS.Said == nil {
		log := c.Logger.Named("access")
		c.TLS.Said = func(err error) { log.Error("certificates", "error", err) }
	}
	return c
}
