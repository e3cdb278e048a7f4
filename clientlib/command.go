package clientlib

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"sync/atomic"
	"time"
)

// command is run again when its answer is old, by one caller at a time: the others wait
// for its answer, or for their own end.
type command struct {
	arguments []string
	doubted   atomic.Bool // run it again, whatever it said
	turn      turn        // who has it may touch what follows
	until     time.Time
	value     string
	err       error
}

func (c *command) read(ctx context.Context) (string, error) {
	if err := c.turn.take(ctx); err != nil {
		return "", err
	}
	defer c.turn.end()
	if doubted := c.doubted.Swap(false); !doubted && time.Now().Before(c.until) {
		return c.value, c.err
	}
	c.value, c.until, c.err = "", time.Time{}, nil
	value, until, err := c.run(ctx)
	switch {
	case err != nil && ctx.Err() != nil: // which ended the command
		return "", context.Cause(ctx)
	case err != nil:
		until = time.Now().Add(execPause)
	}
	c.value, c.until, c.err = value, until, err
	return value, err
}

// run is what the command says, and until when that is used. Its errors name nothing:
// arguments may be secrets, too.
func (c *command) run(ctx context.Context) (string, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, execTimeout)
	defer cancel()
	run := exec.CommandContext(ctx, c.arguments[0], c.arguments[1:]...)
	run.WaitDelay = time.Second
	var out bytes.Buffer
	run.Stdout = &bounded{&out, maxSecret + 1}
	err := run.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return said(time.Now(), out.Bytes())
	case ctx.Err() != nil:
		return "", time.Time{}, fmt.Errorf("its command took longer than %v", execTimeout)
	case errors.As(err, &exit):
		return "", time.Time{}, fmt.Errorf("its command: %v", exit.ProcessState)
	}
	return "", time.Time{}, errors.New("its command cannot be run to its end")
}

// said is the secret in what a command wrote, alone or as {"secret": …, "expires_at": …},
// and until when it is used.
func said(now time.Time, out []byte) (string, time.Time, error) {
	until := now.Add(execKept)
	if out = bytes.TrimSpace(out); !bytes.HasPrefix(out, []byte("{")) {
		value, err := clean(string(out))
		return value, until, err
	}
	var answer struct {
		Secret  string    `json:"secret"`
		Expires time.Time `json:"expires_at"`
	}
	if json.Unmarshal(out, &answer) != nil {
		return "", until, errors.New(`its command: want {"secret": …, "expires_at": "2006-01-02T15:04:05Z"}`)
	}
	if left := answer.Expires.Sub(now); !answer.Expires.IsZero() {
		if left <= 0 {
			return "", until, errors.New("its command: has expired")
		}
		until = now.Add(left - min(execBefore, left/2))
	}
	value, err := clean(answer.Secret)
	return value, until, err
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
