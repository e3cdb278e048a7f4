package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// order is what commands take that set an operator's word on an endpoint.
type order struct {
	reason string
	lasts  time.Duration
	force  bool
}

func (o *order) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.reason, "reason", "", "why; asked for on a terminal")
	cmd.Flags().DurationVar(&o.lasts, "for", 0, "how long; without it until it is taken back")
	cmd.Flags().BoolVar(&o.force, "force", false, "although that leaves a workload with nothing")
}

// check wants a reason, and a time that makes sense.
func (o *order) check(e *env, cmd *cobra.Command, undo string) error {
	if o.lasts < 0 || cmd.Flags().Changed("for") && o.lasts < time.Second {
		return usagef(cmd, "-for %v: want a second or more; without -for it lasts until `pointsman %s`", o.lasts, undo)
	}
	return e.why(cmd, &o.reason)
}

// until words how long an order holds.
func (o *order) until() string {
	if o.lasts == 0 {
		return ""
	}
	return " for " + span(o.lasts.Microseconds())
}

// why wants a reason, and asks for it on a terminal.
func (e *env) why(cmd *cobra.Command, reason *string) error {
	if *reason == "" && e.interactive() {
		answer, err := e.ask("why? ")
		if err != nil {
			return err
		}
		*reason = answer
	}
	if *reason == "" {
		return usagef(cmd, "%s %s needs -reason: others will want to know", cmd.Parent().Name(), cmd.Name())
	}
	return nil
}

// ask asks on the terminal.
func (e *env) ask(question string) (string, error) {
	e.release() // an interrupt ends the program, since no context ends a read
	fmt.Fprint(e.stderr, question)
	answer, err := bufio.NewReader(e.stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return strings.TrimSpace(answer), nil
}

// override is the order about an endpoint; what it does is the caller's to say.
func (o *order) override(e *env, endpoint string) *pb.Override {
	return &pb.Override{Endpoint: endpoint, Actor: e.user(), Reason: o.reason, DurationUs: o.lasts.Microseconds()}
}
