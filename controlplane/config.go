// Package controlplane runs one replica of the control plane: it takes catalogs and
// keeps them in etcd, sends them to whoever subscribes, gathers health from the fleet,
// and decides for it. It holds nothing durable itself, and no request passes through it.
package controlplane

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"

	"github.com/hashicorp/go-hclog"

	"github.com/pointsman/pointsman/controlplane/store"
)

// DefaultNamespace is served when Config names none.
const DefaultNamespace = "default"

// Config says where a replica listens and where its etcd is.
type Config struct {
	Listen        string   // loopback host:port; empty: no TCP
	Socket        string   // path of a unix socket; empty: none
	EtcdEndpoints []string // a cluster; or
	DataDir       string   // one member inside this process
	Namespace     string   // empty: DefaultNamespace
	Version       string   // said in status
	Logger        hclog.Logger
}

// Check returns every fault at once.
func (c Config) Check() error {
	return errors.Join(c.checkListeners(), store.Config{Endpoints: c.EtcdEndpoints, DataDir: c.DataDir}.Check(), c.checkNamespace())
}

func (c Config) checkNamespace() error {
	if c.Namespace == "" {
		return nil
	}
	return store.CheckNamespace(c.Namespace)
}

func (c Config) checkListeners() error {
	var faults []error
	if c.Listen == "" && c.Socket == "" {
		faults = append(faults, errors.New("nothing to listen on: give a loopback address or a unix socket"))
	}
	if c.Listen != "" {
		faults = append(faults, checkLoopback(c.Listen))
	}
	if c.Socket != "" && !filepath.IsAbs(c.Socket) {
		faults = append(faults, fmt.Errorf("socket %q is not an absolute path", c.Socket))
	}
	return errors.Join(faults...)
}

// checkLoopback refuses what other hosts could reach, since nothing is encrypted here.
func checkLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("listen address %q: %w", address, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("listen address %q is not loopback, and there is no TLS: other hosts come in by an agent or a tunnel", address)
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.Namespace == "" {
		c.Namespace = DefaultNamespace
	}
	if c.Logger == nil {
		c.Logger = hclog.NewNullLogger()
	}
	return c
}
