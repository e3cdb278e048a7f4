package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"

	"github.com/pointsman/pointsman/agent/dial"
	"github.com/pointsman/pointsman/agent/hub"
	"github.com/pointsman/pointsman/agent/journal"
	"github.com/pointsman/pointsman/clientlib/cert"
	"github.com/pointsman/pointsman/clientlib/uplink"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Config is what an agent needs: parents, and a socket or an address to serve.
type Config struct {
	Parents    []string // replicas, "host:port" or "unix:///path"; tried in order
	Socket     string   // path of the unix socket to serve; empty: none
	Listen     string   // loopback TCP address to serve, "127.0.0.1:0"; empty: none
	Dir        string   // where last good states are kept; empty: nowhere
	Node       string   // the witness that this host is; empty: its host name
	Locality   string   // of this node
	RecordsMiB int64    // of Dir for what libraries record; 0: 64; negative: nothing is recorded
	Version    string   // of this build, for operators
	Logger     hclog.Logger
	Trust

	// Whose metrics are read and which addresses are tried: host, host:port, a range like
	// 10.0.0.0/8, or "none". Empty: what the catalog names, but this host itself.
	MetricsHosts []string
}

// Trust is how an agent knows its parents and its children.
type Trust struct {
	TLS       cert.Files        // what it serves with over TCP, and shows to parents; none: plain text on this host
	TokenFile string            // holds the token that it shows to parents; empty: none
	Dial      []grpc.DialOption // to parents, in the place of what TLS says
	// LocalToken is the path of a file of mode 0600, made when it is missing, whose token this
	// host's own user shows over loopback; empty: Dir's.
	LocalToken string
}

// TokenName is the file in Dir that holds the token of this host's own user.
const TokenName = "token"

// DefaultSocket is where agents serve, and where programs look for one.
const DefaultSocket = "/run/pointsman/agent.sock"

const maxRecordsMiB = 1 << 20

// Check returns every fault at once.
func (c Config) Check() error {
	link := uplink.Config{Parents: c.Parents, TLS: c.TLS, Token: c.TokenFile, Dial: c.Dial, Hello: &pb.Hello{Leaf: "agent"}, Now: func() int64 { return 0 }}
	err := errors.Join(link.Check(), c.addresses().Check())
	if c.RecordsMiB > maxRecordsMiB {
		err = errors.Join(err, fmt.Errorf("records: %d MiB, at most %d", c.RecordsMiB, maxRecordsMiB))
	}
	if c.Listen != "" && c.TLS.None() && c.tokenFile() == "" {
		err = errors.Join(err, errors.New("listen: who comes over loopback shows a token: name a file for it, or a folder for states"))
	}
	if _, bad := dial.Parse(c.MetricsHosts); bad != nil {
		err = errors.Join(err, fmt.Errorf("metrics hosts: %w", bad))
	}
	return err
}

// addresses are this host's. Who may connect to the socket is for its folder to say: give
// that a group.
func (c Config) addresses() hub.Addresses {
	return hub.Addresses{Listen: c.Listen, Socket: c.Socket, Mode: 0o660, TLS: c.TLS, Mutual: cert.Required, TokenFile: c.tokenFile()}
}

// tokenFile is where the token of this host's own user is; empty: there is none.
func (c Config) tokenFile() string {
	if c.LocalToken == "" && c.Dir != "" {
		return filepath.Join(c.Dir, TokenName)
	}
	return c.LocalToken
}

// journal is where records go: on disk where states do.
func (c Config) journal(observe func(error)) journal.Config {
	j := journal.Config{Bytes: max(c.RecordsMiB, 0) << 20, Observe: observe}
	if c.Dir != "" && c.RecordsMiB >= 0 {
		j.Dir = filepath.Join(c.Dir, "records")
	}
	return j
}

func (c Config) filled() (Config, error) {
	if c.Logger == nil {
		c.Logger = hclog.NewNullLogger()
	}
	if c.TLS.Said == nil {
		log := c.Logger
		c.TLS.Said = func(err error) { log.Error("certificates", "error", err) }
	}
	if c.Node != "" {
		return c, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return c, fmt.Errorf("node: none given, and the host has no name: %w", err)
	}
	c.Node = name
	return c, nil
}
