package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	testLimit = "60s"           // of a broken test: it may hang
	rowLimit  = 3 * time.Minute // with what must be compiled
)

// bite returns nil when the test is green, and red once the code is broken.
func (r row) bite(ctx context.Context, root string) error {
	ctx, cancel := context.WithTimeout(ctx, rowLimit)
	defer cancel()
	folder, err := os.MkdirTemp("", "bite")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	overlay, err := r.overlay(root, folder)
	if err != nil {
		return err
	}
	if green, out := r.run(ctx, root); !green {
		return fmt.Errorf("red without a break:\n%s", out)
	}
	green, out := r.run(ctx, root, "-overlay", overlay)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]"):
		return fmt.Errorf("the break does not compile:\n%s", out)
	case green:
		return errors.New("GREEN with the break")
	}
	return nil
}

// overlay writes the broken file, and what puts it in the place of the right one.
func (r row) overlay(root, folder string) (string, error) {
	right, err := filepath.Abs(filepath.Join(root, r.file))
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(right)
	if err != nil {
		return "", err
	}
	if err := r.unique(string(text)); err != nil {
		return "", err
	}
	broken, list := filepath.Join(folder, "broken.go"), filepath.Join(folder, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{right: broken}})
	if err != nil {
		return "", err
	}
	text = bytes.Replace(text, []byte(r.old), []byte(r.new), 1)
	return list, errors.Join(os.WriteFile(broken, text, 0o600), os.WriteFile(list, replace, 0o600))
}

// run runs the row's test. One that does not exist is not green.
func (r row) run(ctx context.Context, root string, flags ...string) (green bool, out string) {
	args := append([]string{"test", "-vet=off", "-timeout", testLimit, "-run", r.pattern()}, flags...)
	c := exec.CommandContext(ctx, "go", append(args, r.pkg)...)
	c.Dir = root
	c.WaitDelay = time.Second
	b, err := c.CombinedOutput()
	return err == nil && !bytes.Contains(b, []byte("[no tests to run]")), string(b)
}
