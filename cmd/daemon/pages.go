package daemon

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/pprof"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	maxScrapes   = 4 // at once
	scrapeWithin = 10 * time.Second
)

// pages are what a program shows of itself by HTTP: nothing of requests, and no secret.
type pages struct {
	registry *prometheus.Registry
	ready    atomic.Pointer[func() error] // nil: it is starting
}

// newPages are those of a program that is starting.
func newPages() *pages {
	p := &pages{registry: prometheus.NewRegistry()}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "pointsman_build_info", Help: "1, with the version in its labels.",
		ConstLabels: prometheus.Labels{"version": Version(), "go": runtime.Version()},
	})
	build.Set(1)
	ready := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "pointsman_ready", Help: "1 while /readyz says so."}, func() float64 {
		if p.readiness() != nil {
			return 0
		}
		return 1
	})
	p.registry.MustRegister(build, ready, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return p
}

// show adds what is known of the program once it runs.
func (p *pages) show(r *Running) {
	if r.Metrics != nil {
		p.registry.MustRegister(r.Metrics)
	}
	p.ready.Store(&r.Ready)
}

var errStarting = errors.New("starting")

// readiness is why the program is not ready.
func (p *pages) readiness() error {
	ready := p.ready.Load()
	if ready == nil {
		return errStarting
	}
	if *ready == nil {
		return nil
	}
	return (*ready)()
}

// handler serves all pages; guard goes before what is not for everybody.
func (p *pages) handler(guard func(http.Handler) http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", guard(promhttp.HandlerFor(p.registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, Registry: p.registry, MaxRequestsInFlight: maxScrapes, Timeout: scrapeWithin,
	})))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "alive\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := p.readiness(); err != nil {
			http.Error(w, fmt.Sprintf("not ready: %v", err), http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ready\n")
	})
	return mux
}

// profiles serves what Go measures of the process.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}
