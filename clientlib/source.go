package clientlib

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Bounds of what a credential may be and take.
const (
	maxSecret   = 64 << 10
	execTimeout = 10 * time.Second
	execKept    = 5 * time.Minute // how long a command's answer is used
)

// source is where one secret comes from.
type source interface {
	read(ctx context.Context) (string, error)
}

func newSource(from string, allowExec bool) (source, error) {
	kind, rest, _ := strings.Cut(from, ":")
	switch {
	case rest == "":
	case kind == "env":
		return variable(rest), nil
	case kind == "file" && filepath.IsAbs(rest):
		return &file{path: rest}, nil
	case kind == "exec" && !allowExec:
		return nil, errors.New("comes from a command, which AllowExec does not allow")
	case kind == "exec" && filepath.IsAbs(rest):
		return newCommand(strings.Fields(rest)), nil
	}
	return nil, errors.New("want env:VARIABLE, file:/path or exec:/path argument…")
}

// variable is a variable of the environment.
type variable string

func (v variable) read(context.Context) (string, error) { return clean([]byte(os.Getenv(string(v)))) }

// errFile names no path: errors go to the observer, and into answers.
var errFile = errors.New("its file cannot be read")

// file is read again when it has changed.
type file struct {
	path string

	mu    sync.Mutex // guards what follows
	seen  time.Time
	size  int64
	value string
}

func (f *file) read(context.Context) (string, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return "", errFile
	}
	f.mu.Lock()
	value, fresh := f.value, f.value != "" && info.ModTime().Equal(f.seen) && info.Size() == f.size
	f.mu.Unlock()
	if fresh {
		return value, nil
	}
	value, err = readSecret(f.path)
	if err != nil {
		return "", err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.value, f.seen, f.size = value, info.ModTime(), info.Size()
	return value, nil
}

func readSecret(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", errFile
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", errFile
	}
	return clean(b)
}

// command is run again when its answer is old, by one caller at a time: the others wait
// for its answer, or for their own end.
type command struct {
	arguments []string
	turn      chan struct{} // holds one token; who has it may touch what follows
	until     time.Time
	value     string
}

func newCommand(arguments []string) *command {
	c := &command{arguments: arguments, turn: make(chan struct{}, 1)}
	c.turn <- struct{}{}
	return c
}

func (c *command) read(ctx context.Context) (string, error) {
	select {
	case <-c.turn:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	defer func() { c.turn <- struct{}{} }()
	if time.Now().Before(c.until) {
		return c.value, nil
	}
	value, err := c.run(ctx)
	if err != nil {
		return "", err
	}
	c.value, c.until = value, time.Now().Add(execKept)
	return value, nil
}

func (c *command) run(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, execTimeout)
	defer cancel()
	run := exec.CommandContext(ctx, c.arguments[0], c.arguments[1:]...)
	run.WaitDelay = time.Second
	var out bytes.Buffer
	run.Stdout = &bounded{&out, maxSecret + 1}
	if err := run.Run(); err != nil {
		return "", fmt.Errorf("its command: %w", err)
	}
	return clean(out.Bytes())
}

// bounded keeps the first bytes and lets the rest go.
type bounded struct {
	to   *bytes.Buffer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	kept := p[:min(len(p), b.left)]
	b.left -= len(kept)
	b.to.Write(kept)
	return len(p), nil
}

// clean is the secret in what was read. No error of it quotes what was read.
func clean(b []byte) (string, error) {
	value := strings.TrimSpace(string(b))
	switch {
	case value == "":
		return "", errors.New("is empty")
	case len(b) > maxSecret:
		return "", fmt.Errorf("is above %d bytes", maxSecret)
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }):
		return "", errors.New("is not one line of printable characters")
	}
	return value, nil
}
