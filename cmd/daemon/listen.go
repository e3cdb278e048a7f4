package daemon

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/pointsman/pointsman/clientlib/cert"
)

const (
	headerWithin = 5 * time.Second
	answerWithin = 2 * time.Minute // a profile takes as long as it is asked to
	idleWithin   = 30 * time.Second
	maxHeader    = 16 << 10
)

// checkAddresses says what is wrong with where pages are to be served.
func (o *own) checkAddresses(f *cert.Files) error {
	var faults []error
	if o.metrics != "" {
		local, err := loopback(o.metrics)
		if err == nil && !local {
			_, err = encrypted(*f)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("metrics listen %q: %w", o.metrics, err))
		}
	}
	if o.pprof != "" {
		local, err := loopback(o.pprof)
		if err == nil && !local {
			err = errors.New("not a loopback address: profiles are for who is on this host")
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("pprof %q: %w", o.pprof, err))
		}
	}
	return errors.Join(faults...)
}

// loopback says whether an address is on this host alone.
func loopback(address string) (bool, error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return false, err
	}
	return cert.Here(address), nil
}

// servers are those of the pages.
type servers struct {
	log     hclog.Logger
	all     []*http.Server
	serving sync.WaitGroup
}

// listen serves the pages. Where the default address is taken, another program of this kind runs
// here: that is no reason not to serve, it is said.
func (o *own) listen(p *pages, f *cert.Files, log hclog.Logger) (*servers, error) {
	s := &servers{log: log}
	if err := s.pages(o.metrics, p, f); err != nil {
		if o.given {
			s.stop()
			return nil, fmt.Errorf("metrics listen: %w", err)
		}
		log.Warn("no metrics and no health: give -metrics-listen an address of its own", "error", err)
	}
	if err := s.serve(o.pprof, &http.Server{Handler: profiles()}); err != nil {
		s.stop()
		return nil, fmt.Errorf("pprof: %w", err)
	}
	return s, nil
}

// pages serves metrics to anybody on this host, and beyond it to who has a certificate.
func (s *servers) pages(address string, p *pages, f *cert.Files) error {
	local, err := loopback(address)
	if address == "" || err == nil && local {
		return s.serve(address, &http.Server{Handler: p.handler(anybody)})
	}
	server, err := p.encrypted(*f)
	if err != nil {
		return err
	}
	return s.serve(address, server)
}

// encrypted shows the metrics to who has a certificate that the CA signed; without a CA nobody has.
func (p *pages) encrypted(f cert.Files) (*http.Server, error) {
	config, err := encrypted(f)
	return &http.Server{Handler: p.handler(known), TLSConfig: config}, err
}

func (s *servers) serve(address string, server *http.Server) error {
	if address == "" {
		return nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server.ReadHeaderTimeout, server.ReadTimeout, server.WriteTimeout, server.IdleTimeout = headerWithin, headerWithin, answerWithin, idleWithin
	server.MaxHeaderBytes = maxHeader
	server.ErrorLog = s.log.Named("http").StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}) // what strangers send is no news
	s.all = append(s.all, server)
	s.log.Info("telling", "address", l.Addr().String(), "tls", server.TLSConfig != nil)
	s.serving.Go(func() {
		if err := accept(server, l); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("no metrics and no health any more", "address", l.Addr().String(), "error", err)
		}
	})
	return nil
}

func accept(s *http.Server, l net.Listener) error {
	if s.TLSConfig != nil {
		return s.ServeTLS(l, "", "")
	}
	return s.Serve(l)
}

// stop ends the servers, whatever they are at, and waits.
func (s *servers) stop() {
	for _, server := range s.all {
		_ = server.Close() // of listeners that are to go anyway
	}
	s.serving.Wait()
}
