//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/pointsman/pointsman/clientlib/cert"
)

// binaries is the folder that TestMain builds the programs into.
var binaries string

// hostToken is the file of the token of this host's user, for all control planes of these tests
// that listen on loopback.
func hostToken() string { return filepath.Join(binaries, "token") }

// asHost connects over loopback as this host's user.
func asHost(t *testing.T, addr string) *grpc.ClientConn {
	t.Helper()
	options, err := cert.Dial(addr, cert.Files{}, hostToken())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(addr, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// plain builds the programs without the race detector: so many would need more cores.
var plain = flag.Bool("plain", false, "build the programs without the race detector")

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(play(role))
	}
	flag.Parse()
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "pointsman-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	args := []string{"build", "-o", dir}
	if !*plain {
		args = append(args, "-race")
	}
	build := exec.Command("go", append(args, "../../cmd/...")...)
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the programs: %v\n%s", err, out)
		return 1
	}
	binaries = dir
	return m.Run()
}

// process is a program under test. Its output is kept, for when a test fails.
type process struct {
	t     *testing.T
	name  string
	cmd   *exec.Cmd
	ended chan struct{}

	mu     sync.Mutex
	lines  []string // of stdout and stderr, the last ones
	broken string   // the first line that tells of a race or a panic
}

const (
	keptLines  = 400
	shownLines = 30
)

// start runs a program until the test ends, at the latest.
func start(t *testing.T, name, program string, environ []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, name: name, cmd: exec.Command(program, args...), ended: make(chan struct{})}
	p.cmd.Env = with(environ...)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout, p.cmd.Stderr = w, w
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	go p.read(r)
	t.Cleanup(func() {
		p.kill()
		lines := p.output()
		if p.broken != "" {
			t.Errorf("%s: %s", name, p.broken)
		}
		if t.Failed() {
			t.Logf("--- %s\n%s", name, join(lines[max(0, len(lines)-shownLines):]))
		}
	})
	return p
}

// with is this process's environment, but with these settings alone.
func with(settings ...string) []string {
	ours := func(v string) bool { return strings.HasPrefix(v, "POINTSMAN_") }
	return append(slices.DeleteFunc(os.Environ(), ours), settings...)
}

func (p *process) read(r io.ReadCloser) {
	defer close(p.ended)
	defer r.Close()
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p.mu.Lock()
		if len(p.lines) == keptLines {
			p.lines = p.lines[1:]
		}
		p.lines = append(p.lines, lines.Text())
		if p.broken == "" && (strings.Contains(lines.Text(), "DATA RACE") || strings.HasPrefix(lines.Text(), "panic:")) {
			p.broken = lines.Text()
		}
		p.mu.Unlock()
	}
	_ = p.cmd.Wait() // the exit code says it
}

func (p *process) output() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.lines)
}

// kill ends the process at once, as a crash would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

// stop asks the process to end, and fails the test if it does not, or says it failed.
func (p *process) stop() {
	p.t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.ended:
	case <-time.After(10 * time.Second):
		p.t.Errorf("%s did not stop in 10 s", p.name)
		return
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		p.t.Errorf("%s exited with %d", p.name, code)
	}
}

// cli runs the command line once and returns its exit code and streams.
func cli(t *testing.T, addr string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(binaries, "pointsman"), args...)
	cmd.Env = with("POINTSMAN_ADDR=" + addr)
	if _, err := os.Stat(hostToken()); err == nil && !strings.HasPrefix(addr, "unix:") {
		cmd.Env = with("POINTSMAN_ADDR="+addr, "POINTSMAN_TOKEN_FILE="+hostToken())
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("pointsman %s: %v", strings.Join(args, " "), err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// must runs the command line and wants it to succeed.
func must(t *testing.T, addr string, args ...string) string {
	t.Helper()
	code, out, errs := cli(t, addr, args...)
	if code != 0 {
		t.Fatalf("pointsman %s: exit %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

// answer decodes what the command line prints with -json.
func answer[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, text)
	}
	return v
}

// eventually waits until ok says so and returns how long that took.
func eventually(t *testing.T, within time.Duration, what string, ok func() bool) time.Duration {
	t.Helper()
	start := time.Now()
	for !ok() {
		if time.Since(start) > within {
			t.Fatalf("not within %v: %s", within, what)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return time.Since(start)
}

// freePort is one that nobody listens on now.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func startDev(t *testing.T, args ...string) *process {
	t.Helper()
	return start(t, "dev", filepath.Join(binaries, "pointsman"), nil, args...)
}

func join(lines []string) string { return strings.Join(lines, "\n") }
