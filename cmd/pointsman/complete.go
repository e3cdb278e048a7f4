package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const completeWithin = time.Second // a shell waits for it

// completion is what cobra calls for the values of an argument or a flag.
type completion = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

// complete gives no values rather than an error: nobody wants one at a prompt.
func (e *env) complete(cmd *cobra.Command, values func(context.Context) []string) ([]string, cobra.ShellCompDirective) {
	e.timeout = min(e.timeout, completeWithin)
	return values(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
}

func (e *env) completeFlag(cmd *cobra.Command, flag string, values completion) {
	if err := cmd.RegisterFlagCompletionFunc(flag, values); err != nil {
		cmd.PrintErrf("bug: %v\n", err)
	}
}

func (e *env) completeEndpoints(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return e.complete(cmd, func(ctx context.Context) (names []string) {
		answer, err := call(ctx, e, services.ListEndpoints, &pb.ListEndpointsRequest{Namespace: e.namespace})
		if err != nil || len(args) > 0 {
			return nil
		}
		for _, p := range answer.Endpoints {
			names = append(names, p.Name+"\t"+p.Model)
		}
		return names
	})
}

// completeLeaves gives the libraries that are connected.
func (e *env) completeLeaves(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return e.complete(cmd, func(ctx context.Context) (names []string) {
		answer, err := call(ctx, e, services.ListClients, &pb.ListClientsRequest{Namespace: e.namespace})
		if err != nil {
			return nil
		}
		for _, c := range answer.Clients {
			if s := c.GetState(); !s.GetGone() {
				names = append(names, oneLine(s.GetLeaf())+"\t"+oneLine(s.GetNode()))
			}
		}
		return names
	})
}

func (e *env) completeWorkloads(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return e.complete(cmd, func(ctx context.Context) (names []string) {
		answer, err := call(ctx, e, services.Show, &pb.ShowRequest{Namespace: e.namespace})
		if err != nil {
			return nil
		}
		for _, r := range answer.Resources {
			if r.Kind == pb.Kind_KIND_WORKLOAD {
				names = append(names, r.Name)
			}
		}
		return names
	})
}

func (e *env) completeRevisions(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return e.complete(cmd, func(ctx context.Context) (names []string) {
		answer, err := call(ctx, e, services.History, &pb.HistoryRequest{Namespace: e.namespace})
		if err != nil {
			return nil
		}
		for _, r := range answer.Revisions {
			names = append(names, fmt.Sprintf("%d\t%s", r.Revision, oneLine(r.Message)))
			names = append(names, r.Tags...)
		}
		return names
	})
}
