package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const nodeDrainMost = 4 * time.Hour // node_service.proto

func newEndpointDrain(e *env) *cobra.Command {
	var o order
	var node string
	cmd := &cobra.Command{
		Use:   "drain ENDPOINT -reason WHY [-for TIME]",
		Short: "Take an endpoint out of every pool",
		Long: `Sends an endpoint no new requests; what runs there goes on. If that leaves a workload with nothing it is refused
(exit code 4) without -force.

When the control plane is lost, -agent asks one agent: its node sends the endpoint nothing for 4h at most, whatever that leaves.
It holds until then, or until it is undrained at the same agent, also when the control plane is back.`,
		Example: `  pointsman endpoint drain gpu-b -reason "new driver" -for 2h
  pointsman endpoint drain gpu-b -reason "it answers rubbish" -agent local`,
		Args:              takes(1, 1),
		ValidArgsFunction: e.completeEndpoints,
		RunE: func(cmd *cobra.Command, args []string) error {
			if node != "" {
				return o.drainNode(e, cmd, node, args[0])
			}
			if err := o.check(e, cmd, "endpoint undrain"); err != nil {
				return err
			}
			answer, err := call(cmd.Context(), e, services.Drain, &pb.DrainRequest{
				Namespace: e.namespace, Endpoint: args[0], Actor: e.user(), Reason: o.reason, DurationUs: o.lasts.Microseconds(), Force: o.force,
			})
			return e.headed(args[0]+" is drained"+o.until(), answer, orOnNode(err))
		},
	}
	o.flags(cmd)
	e.nodeFlag(cmd, &node, "on one node alone, by the agent")
	return cmd
}

// orOnNode says what can be done while nobody answers for the fleet.
func orOnNode(err error) error {
	if f, ok := errors.AsType[*failure](err); ok && f.away {
		f.next = strings.TrimPrefix(f.next+"\n", "\n") + "meanwhile `-agent local`, on each node that matters, drains there alone"
	}
	return err
}

// drainNode drains on one node.
func (o *order) drainNode(e *env, cmd *cobra.Command, node, endpoint string) error {
	switch {
	case o.force:
		return usagef(cmd, "-force is for the fleet's drains: an agent drains whatever is asked")
	case o.lasts > nodeDrainMost:
		return usagef(cmd, "-for %s: one agent drains for %s at most", span(o.lasts.Microseconds()), span(nodeDrainMost.Microseconds()))
	}
	if err := o.check(e, cmd, "endpoint undrain -agent"); err != nil {
		return err
	}
	lasts := o.lasts
	if lasts == 0 {
		lasts = nodeDrainMost
	}
	answer, err := askNode(cmd.Context(), e.at(node), pb.NodeServiceClient.DrainNode, &pb.DrainNodeRequest{
		Endpoint: endpoint, Reason: o.reason, Actor: e.user(), DurationUs: lasts.Microseconds(),
	})
	return e.done(fmt.Sprintf("%s is drained on the node of that agent alone, for %s", endpoint, span(lasts.Microseconds())), answer, err)
}

func newEndpointUndrain(e *env) *cobra.Command {
	var node string
	cmd := &cobra.Command{
		Use:   "undrain ENDPOINT",
		Short: "Put a drained endpoint back",
		Example: `  pointsman endpoint undrain gpu-b
  pointsman endpoint undrain gpu-b -agent local`,
		Args:              takes(1, 1),
		ValidArgsFunction: e.completeEndpoints,
		RunE: func(cmd *cobra.Command, args []string) error {
			if node != "" {
				answer, err := askNode(cmd.Context(), e.at(node), pb.NodeServiceClient.UndrainNode, &pb.UndrainNodeRequest{Endpoint: args[0]})
				return e.done(args[0]+" is back on the node of that agent, unless the fleet drains it", answer, err)
			}
			answer, err := call(cmd.Context(), e, services.Undrain, &pb.UndrainRequest{Namespace: e.namespace, Endpoint: args[0], Actor: e.user()})
			return e.headed(args[0]+" is back", answer, err)
		},
	}
	e.nodeFlag(cmd, &node, "on one node alone, by the agent")
	return cmd
}

func newEndpointWeight(e *env) *cobra.Command {
	var o order
	cmd := &cobra.Command{
		Use:   "weight ENDPOINT WEIGHT -reason WHY [-for TIME]",
		Short: "Give an endpoint another share of its tier",
		Long: `Sets an endpoint's weight in the place of the catalog's: its part of the requests of its tier, beside the weights of the
others there. 0 sends it nothing, which is refused (exit code 4) without -force if it leaves a workload with nothing.`,
		Example:           `  pointsman endpoint weight gpu-b 25 -reason "one card is out" -for 12h`,
		Args:              takes(2, 2),
		ValidArgsFunction: e.completeEndpoints,
		RunE: func(cmd *cobra.Command, args []string) error {
			weight, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil || weight < 0 {
				return usagef(cmd, "weight %q: want a whole number, 0 or more", args[1])
			}
			if err := o.check(e, cmd, "endpoint unweight"); err != nil {
				return err
			}
			word := o.override(e, args[0])
			word.What = &pb.Override_Weight{Weight: weight}
			answer, err := call(cmd.Context(), e, services.SetOverride, &pb.SetOverrideRequest{Namespace: e.namespace, Override: word, Force: o.force})
			return e.headed(fmt.Sprintf("%s has weight %d%s", args[0], weight, o.until()), answer, err)
		},
	}
	o.flags(cmd)
	return cmd
}

func newEndpointUnweight(e *env) *cobra.Command {
	return &cobra.Command{
		Use:               "unweight ENDPOINT",
		Short:             "Give an endpoint the catalog's weight again",
		Example:           "  pointsman endpoint unweight gpu-b",
		Args:              takes(1, 1),
		ValidArgsFunction: e.completeEndpoints,
		RunE: func(cmd *cobra.Command, args []string) error {
			answer, err := call(cmd.Context(), e, services.RemoveOverride,
				&pb.RemoveOverrideRequest{Namespace: e.namespace, Endpoint: args[0], Kind: "weight"})
			return e.headed(args[0]+" has the catalog's weight again", answer, err)
		},
	}
}
