package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// order is what the process of the clients is told to do; it answers each before the next.
type order struct {
	Do      string // open, await, back, close
	Group   string
	Address string
	N       int
	TLS     bool
	Version uint64 // await: of any track
	From    int64  // await, back: unix ns
	Within  time.Duration
}

// outcome is its answer.
type outcome struct {
	Err      string
	Count    int   // clients that are there, or have the version
	P50, P99 int64 // ns from From to the arrival
	Bytes    int64 // of data read by the group, all in all
	Streams  int   // that were opened, all in all
}

// crowdProcess is this program as the clients.
type crowdProcess struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	enc *json.Encoder
	dec *json.Decoder
}

func startCrowd() (*crowdProcess, error) {
	cmd := exec.Command(os.Args[0], "-crowd")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &crowdProcess{cmd, in, json.NewEncoder(in), json.NewDecoder(out)}, nil
}

// do gives an order and waits for its outcome.
func (p *crowdProcess) do(o order) (outcome, error) {
	var out outcome
	err := errors.Join(p.enc.Encode(o), p.dec.Decode(&out))
	if err == nil && out.Err != "" {
		err = errors.New(out.Err)
	}
	if err != nil {
		return out, fmt.Errorf("clients: %s %s: %w", o.Do, o.Group, err)
	}
	return out, nil
}

// end lets it end: its orders are over.
func (p *crowdProcess) end() error { return errors.Join(p.in.Close(), p.cmd.Wait()) }
