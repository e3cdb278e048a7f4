package clientlib

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Bounds of what a credential may be and take.
const (
	maxSecret   = 64 << 10
	execTimeout = 10 * time.Second
	execKept    = 5 * time.Minute  // how long a command's answer is used that does not say
	execBefore  = 30 * time.Second // of the end that it does say another is asked for
	execPause   = time.Second      // between a failure and the next run
	fileSettles = 2 * time.Second  // after a change: the next may bear the same time
)

// source is where one secret comes from.
type source interface {
	read(ctx context.Context) (string, error)
}

func newSource(c Credential, allowExec bool) (source, error) {
	kind, rest, _ := strings.Cut(c.From, ":")
	switch {
	case c.From != "" && c.Source != nil:
		return nil, errors.New("has From and Source")
	case c.Source != nil:
		return &hook{c.Source, newTurn()}, nil
	case rest == "":
	case kind == "env":
		return variable(rest), nil
	case kind == "file" && filepath.IsAbs(rest):
		return &file{path: rest}, nil
	case kind == "exec" && !allowExec:
		return nil, errors.New("comes from a command, which AllowExec does not allow")
	case kind == "exec" && filepath.IsAbs(rest):
		return &command{arguments: strings.Fields(rest), turn: newTurn()}, nil
	}
	return nil, errors.New("want env:VARIABLE, file:/path or exec:/path argument…")
}

// variable is a variable of the environment.
type variable string

func (v variable) read(context.Context) (string, error) { return clean(os.Getenv(string(v))) }

// errFile names no path: errors go to the observer, and into answers.
var errFile = errors.New("its file cannot be read")

// file is read again when it has changed.
type file struct {
	path string

	mu      sync.Mutex // guards what follows
	seen    fs.FileInfo
	settled bool // a change since then shows in what was seen
	value   string
}

func (f *file) read(context.Context) (string, error) {
	info, err := os.Stat(f.path)
	if err != nil || !info.Mode().IsRegular() { // a pipe would be waited for
		return "", errFile
	}
	if value, ok := f.known(info); ok {
		return value, nil
	}
	settled := time.Since(info.ModTime()) > fileSettles
	value, err := readSecret(f.path)
	if err != nil {
		return "", err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.value, f.seen, f.settled = value, info, settled
	return value, nil
}

// known is what was read when the file looked like that.
func (f *file) known(info fs.FileInfo) (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	same := f.settled && f.seen.ModTime().Equal(info.ModTime()) && f.seen.Size() == info.Size() && os.SameFile(f.seen, info)
	return f.value, same
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
	return clean(string(b))
}

// turn is one caller's at a time.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// take waits for the turn, or for the end of ctx.
func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t turn) end() { <-t }

// hook is the application's own source. What it says of itself may quote the secret.
type hook struct {
	ask  func(ctx context.Context) (string, error)
	turn turn
}

func (h *hook) read(ctx context.Context) (value string, err error) {
	if err := h.turn.take(ctx); err != nil {
		return "", err
	}
	defer h.turn.end()
	defer func() {
		if recover() != nil {
			value, err = "", errors.New("its source panicked")
		}
	}()
	value, err = h.ask(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", errors.New("its source failed")
	}
	return clean(value)
}

// clean is the secret in what was read. No error of it quotes what was read.
func clean(text string) (string, error) {
	value := strings.TrimSpace(text)
	switch {
	case value == "":
		return "", errors.New("is empty")
	case len(text) > maxSecret:
		return "", fmt.Errorf("is above %d bytes", maxSecret)
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }):
		return "", errors.New("is not one line of printable characters")
	}
	return value, nil
}
