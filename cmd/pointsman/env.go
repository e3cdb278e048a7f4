package main

import (
	"io"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/pointsman/pointsman/clientlib/cert"
	"github.com/pointsman/pointsman/cmd/pointsman/dev"
	"github.com/pointsman/pointsman/controlplane/rpc"
)

const (
	defaultSocket  = "/run/pointsman/controlplane.sock"
	defaultAddr    = dev.DefaultListen
	defaultTimeout = 10 * time.Second
)

// env is what one run of the program has: its streams, its environment, and the flags of every command.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	environ        []string

	addr, tokenFile, namespace string
	tls                        cert.Files
	agent                      string // whose records are shown
	timeout                    time.Duration
	json                       bool

	dir     string // the catalog's folder, which findings are in; empty: not known
	release func() // gives interrupts back to the system
	started bool   // a command runs: what fails from here on is not wrong usage
}

func (e *env) flags(f *pflag.FlagSet) {
	f.StringVar(&e.addr, "addr", e.lookup("POINTSMAN_ADDR", ""),
		"the control plane: unix:///path or host:port"+e.unset("POINTSMAN_ADDR", " (default "+defaultSocket+" if it is there, else "+defaultAddr+")"))
	f.StringVar(&e.tokenFile, "token-file", e.lookup("POINTSMAN_TOKEN_FILE", ""), "`file` with the bearer token"+
		e.unset("POINTSMAN_TOKEN_FILE", " (default, over loopback and without -tls-cert: the one that the control plane left there for its user)"))
	f.StringVar(&e.tls.CA, "tls-ca", e.lookup("POINTSMAN_TLS_CA", ""), "`file` of the CA whose signature is believed; \"system\": whom the system believes")
	f.StringVar(&e.tls.Cert, "tls-cert", e.lookup("POINTSMAN_TLS_CERT", ""), "`file` of the certificate that says who you are")
	f.StringVar(&e.tls.Key, "tls-key", e.lookup("POINTSMAN_TLS_KEY", ""), "`file` of its key")
	f.StringVar(&e.namespace, "namespace", e.lookup("POINTSMAN_NAMESPACE", rpc.DefaultNamespace), "the catalog's namespace")
	f.DurationVar(&e.timeout, "timeout", defaultTimeout, "how long to wait for one answer")
	f.BoolVar(&e.json, "json", false, "print JSON for programs")
}

// lookup reads the environment; an empty value is none.
func (e *env) lookup(key, byDefault string) string {
	for i := len(e.environ) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(e.environ[i], key+"="); ok && value != "" {
			return value
		}
	}
	return byDefault
}

// unset is a text that holds while the environment says nothing.
func (e *env) unset(key, text string) string {
	if e.lookup(key, "") != "" {
		return ""
	}
	return text
}

// address is where the control plane is looked for.
func (e *env) address() string {
	if e.addr != "" {
		return e.addr
	}
	if _, err := os.Stat(defaultSocket); err == nil {
		return "unix://" + defaultSocket
	}
	return defaultAddr
}

// user is who acts, as the environment says; the control plane records the connection's identity too.
func (e *env) user() string {
	if name := e.lookup("USER", e.lookup("LOGNAME", "")); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

// interactive tells whether somebody can be asked.
func (e *env) interactive() bool {
	return isTerminal(e.stdin) && isTerminal(e.stderr)
}

func isTerminal(stream any) bool {
	if s, ok := stream.(*sink); ok {
		stream = s.Writer
	}
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
