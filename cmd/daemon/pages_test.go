package daemon

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pointsman/pointsman/clientlib/cert"
)

// text can be written to by many.
type text struct {
	mu sync.Mutex
	bytes.Buffer
}

func (o *text) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Buffer.Write(b)
}

func (o *text) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Buffer.String()
}

// run is a program that is ready when why is empty, and runs until it is stopped.
type run struct {
	t     *testing.T
	why   atomic.Pointer[string]
	open  chan struct{} // it opens when this is closed
	up    chan struct{} // closed when it runs
	at    string        // its pages
	ended chan struct{}
	out   text
}

// start runs the program with pages at a free port.
func start(t *testing.T, more ...string) *run {
	t.Helper()
	r := &run{t: t, open: make(chan struct{}), up: make(chan struct{}), at: free(t)}
	p := Program{
		Name: "pointsman-example", Metrics: "127.0.0.1:0", TLS: &cert.Files{}, Check: func() error { return nil }, Flags: func(*flag.FlagSet) {},
		Open: func(context.Context, hclog.Logger) (*Running, error) {
			<-r.open
			size := prometheus.NewGauge(prometheus.GaugeOpts{Name: "pointsman_size", Help: "A size."})
			return &Running{Metrics: size, Ready: r.ready, Run: func(ctx context.Context) error {
				close(r.up)
				<-ctx.Done()
				return nil
			}}, nil
		},
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	r.ended = make(chan struct{})
	args := append([]string{"-metrics-listen", r.at}, more...)
	go func() {
		defer close(r.ended)
		ended <- p.Run(ctx, Process{Args: args, Stdout: &r.out, Stderr: &r.out})
	}()
	t.Cleanup(func() {
		cancel()
		if code := <-ended; code != Done {
			t.Errorf("exit %d: %s", code, &r.out)
		}
	})
	return r
}

// opens lets it open, and waits until it runs.
func (r *run) opens() {
	r.t.Helper()
	close(r.open)
	select {
	case <-r.up:
	case <-r.ended:
		r.t.Fatalf("it ended: %s", &r.out)
	}
}

func (r *run) ready() error {
	if why := r.why.Load(); why != nil {
		return errors.New(*why)
	}
	return nil
}

// free is an address that nobody listens on, until somebody does.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

const patience = 30 * time.Second // far above what anything here takes

var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// get asks for a page until somebody listens there.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		answer, err := client.Get(url)
		if err == nil {
			defer answer.Body.Close()
			b, err := io.ReadAll(answer.Body)
			if err != nil {
				t.Fatal(err)
			}
			return answer.StatusCode, string(b)
		}
		if time.Now().After(end) || !strings.Contains(err.Error(), "refused") {
			t.Fatal(err)
		}
	}
}

func (r *run) shows(path string, status int, says string) {
	r.t.Helper()
	if got, body := get(r.t, "http://"+r.at+path); got != status || !strings.Contains(body, says) {
		r.t.Errorf("%s: %d, want %d with %q:\n%s", path, got, status, says, body)
	}
}

func TestAProgramTellsHowItDoes(t *testing.T) {
	r := start(t)
	r.shows("/healthz", http.StatusOK, "alive")
	r.shows("/readyz", http.StatusServiceUnavailable, "starting")
	r.shows("/metrics", http.StatusOK, "pointsman_ready 0")
	why := "no head was read"
	r.why.Store(&why)
	r.opens()
	r.shows("/readyz", http.StatusServiceUnavailable, why)
	r.why.Store(nil)
	r.shows("/readyz", http.StatusOK, "ready")
	r.shows("/metrics", http.StatusOK, "pointsman_ready 1")
	r.shows("/metrics", http.StatusOK, "pointsman_size 0")
	r.shows("/metrics", http.StatusOK, "pointsman_build_info{go=")
	r.shows("/metrics", http.StatusOK, "process_open_fds ")
	r.shows("/debug/pprof/", http.StatusNotFound, "")
	r.shows("/", http.StatusNotFound, "")
}

func TestProfilesAreServedWhenAskedFor(t *testing.T) {
	at := free(t)
	r := start(t, "-pprof", at)
	r.opens()
	if status, body := get(t, "http://"+at+"/debug/pprof/goroutine?debug=1"); status != http.StatusOK || !strings.Contains(body, "goroutine profile") {
		t.Errorf("%d: %s", status, body)
	}
	r.shows("/debug/pprof/", http.StatusNotFound, "")
}

// Two programs of a kind may run on one host: the second has no metrics, and says so. What was
// asked for by name and cannot be is a failure.
func TestADefaultAddressThatIsTakenStopsNobody(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := example(&got{}, nil)
	p.Metrics = l.Addr().String()
	for name, c := range map[string]struct {
		args []string
		want int
		says string
	}{
		"by default":   {nil, Done, "no metrics and no health"},
		"asked for":    {[]string{"-metrics-listen", p.Metrics}, Failed, "metrics listen"},
		"profiles too": {[]string{"-pprof", p.Metrics}, Failed, "pprof"},
	} {
		var out text
		if code := p.Run(t.Context(), Process{Args: c.args, Stdout: &out, Stderr: &out}); code != c.want || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: exit %d, want %d with %q:\n%s", name, code, c.want, c.says, &out)
		}
	}
}

// A container's health check is told none of the arguments that its program was.
func TestAHealthCheckAsksTheProgramThatRuns(t *testing.T) {
	r := start(t)
	why := "no head was read"
	r.why.Store(&why)
	r.opens()
	r.shows("/healthz", http.StatusOK, "alive")
	check := func(at string) (int, string) {
		var out text
		code := example(&got{}, errors.New("served")).Run(t.Context(), Process{
			Args: []string{"-healthcheck", "-state-dir", ""}, Environ: []string{"POINTSMAN_EXAMPLE_METRICS_LISTEN=" + at}, Stdout: &out, Stderr: &out,
		})
		return code, out.String()
	}
	if code, said := check(r.at); code != Done || !strings.Contains(said, "alive\nnot ready: no head was read") {
		t.Errorf("exit %d: %s", code, said)
	}
	if code, said := check(free(t)); code != Failed {
		t.Errorf("of nobody: exit %d: %s", code, said)
	}
}

func TestAHealthCheckAsksWhereTheProgramListens(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:7401": "http://127.0.0.1:7401", "localhost:1": "http://localhost:1", "[::1]:7401": "http://[::1]:7401",
		":7401": "https://127.0.0.1:7401", "0.0.0.0:7401": "https://127.0.0.1:7401", "[::]:7401": "https://127.0.0.1:7401",
		"10.0.0.1:7401": "https://10.0.0.1:7401",
	} {
		if got, err := address(listen); err != nil || got != want {
			t.Errorf("%s: %s, want %s (%v)", listen, got, want, err)
		}
	}
}
