package clientlib

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"

	"github.com/pointsman/pointsman/clientlib/cert"
	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
)

// Config says where a client takes its catalog from and what it may use. A zero field
// means its default; at least one source of a catalog is needed.
type Config struct {
	Parents   []string       // "unix:///path" or "host:port", tried in order
	StateDir  string         // keeps what parents gave over restarts; empty: nowhere
	Snapshot  string         // a file with a whole state, used when no parent answers
	Bootstrap []byte         // the same as bytes, used after it
	Catalog   *route.Catalog // the same, made in Go; used last

	Workloads []string // what this process calls; empty: all
	Name      string   // of this client, before a random suffix; default: the program's
	Node      string   // the machine; default: its host name
	Locality  string   // a path, as regions are

	Credentials  map[string]Credential // by the catalog's names; before POINTSMAN_CREDENTIAL_…
	AllowedHosts []string              // the only ones anything is sent to, with POINTSMAN_ALLOWED_HOSTS; none: any
	AllowExec    bool                  // let credentials come from commands
	OthersSend   bool                  // what is decided here is sent by other programs: credentials and dialects are theirs to have

	// How many tokens the prompt of a request's body is, by a tokenizer; 0: not known. Nil:
	// none is asked, and bytes are counted. It is called for every request, by many at once.
	CountTokens func(workload string, body []byte) int64

	Queue     int           // calls that may wait while all endpoints are limited or full; default 1024, negative: none
	QueueWait time.Duration // and for how long at most; default 30 s

	Observer  Observer          // told of attempts, calls and events; nil: nobody
	Tracer    Tracer            // follows calls and attempts; nil: nobody
	HTTP      http.RoundTripper // what Transport sends through, as it is; default: pooled, bounded connections
	TLS       cert.Files        // how parents over TCP are reached, and who this is there; none: those on this host, in plain text
	TokenFile string            // file with a bearer token for parents, read again when it changes; empty: none is shown
	Dial      []grpc.DialOption // to parents, in the place of what TLS says
}

// Check says everything that is wrong with the configuration, the process's environment
// included.
func (c Config) Check() error {
	_, err := newKeyring(c, os.Environ())
	if len(c.Parents) == 0 && c.Snapshot == "" && len(c.Bootstrap) == 0 && c.Catalog == nil {
		err = errors.Join(errors.New("no source of a catalog: set Parents, Snapshot, Bootstrap or Catalog"), err)
	}
	if c.QueueWait < 0 {
		err = errors.Join(err, fmt.Errorf("QueueWait: want 0 or more, got %v", c.QueueWait))
	}
	return err
}

func (c Config) name() string { return cmp.Or(c.Name, filepath.Base(os.Args[0])) }

func (c Config) node() string {
	host, _ := os.Hostname() // none: the relay's word for it stands
	return cmp.Or(c.Node, host)
}

func (c Config) selector() wire.Selector {
	return wire.Selector{All: len(c.Workloads) == 0, Workloads: c.Workloads}
}
