package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pointsman/pointsman/controlplane/catalog"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func newCatalogShow(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show [REVISION | TAG] [KIND/NAME]",
		Short: "Show effective values: what is served, or what a revision says",
		Long: `Shows every resource of a revision with every default resolved, or one resource of it. Without a revision it is
what is served now. With -json the body of each resource is the JSON form of its message.`,
		Example: `  pointsman catalog show
  pointsman catalog show 12 workload/support-chat`,
		Args:              takes(0, 2),
		ValidArgsFunction: e.completeRevisions,
		RunE: func(cmd *cobra.Command, args []string) error {
			resource := ""
			if n := len(args); n > 0 && strings.Contains(args[n-1], "/") {
				resource, args = args[n-1], args[:n-1]
			}
			if len(args) > 1 {
				return usagef(cmd, "%q is no KIND/NAME", args[1])
			}
			request := &pb.ShowRequest{Namespace: e.namespace}
			request.Revision, request.Tag = revisionArg(args)
			answer, err := call(cmd.Context(), e, services.Show, request)
			if err != nil {
				return err
			}
			return e.show(answer, resource)
		},
	}
	return cmd
}

// show prints the resources of an answer, or the one named kind/name.
func (e *env) show(answer *pb.ShowResponse, only string) error {
	resources := answer.Resources
	if only != "" {
		i := slices.IndexFunc(resources, func(r *pb.Resource) bool { return kindName(r.Kind)+"/"+r.Name == only })
		if i < 0 {
			return &failure{code: exitFailed, err: fmt.Errorf("revision %d has no %s", answer.GetInfo().GetRevision(), only), next: "`pointsman catalog show` lists what there is"}
		}
		resources = resources[i : i+1]
	}
	if e.json {
		return e.showJSON(answer, resources)
	}
	fmt.Fprintf(e.stdout, "revision %d, published %s\n", answer.GetInfo().GetRevision(), happened(answer.GetInfo().GetTime(), answer.GetInfo().GetAuthor()))
	for _, r := range resources {
		printResource(e.stdout, r)
	}
	return nil
}

func printResource(w io.Writer, r *pb.Resource) {
	fmt.Fprintf(w, "\n%s %q\n", kindName(r.Kind), r.Name)
	var pairs []string
	for _, line := range catalog.Describe(r) {
		pairs = append(pairs, "  "+line.Attribute, line.Value)
	}
	fields(w, pairs...)
}

type shownResource struct {
	Kind string          `json:"kind"`
	Name string          `json:"name"`
	Body json.RawMessage `json:"body"`
}

func (e *env) showJSON(answer *pb.ShowResponse, resources []*pb.Resource) error {
	info, err := protoJSON(answer.GetInfo())
	if err != nil {
		return err
	}
	shown := []shownResource{}
	for _, r := range resources {
		body, err := bodyJSON(r)
		if err != nil {
			return err
		}
		shown = append(shown, shownResource{kindName(r.Kind), r.Name, body})
	}
	return e.printData(map[string]any{"info": info, "resources": shown})
}

// bodyJSON is null for a kind that this program does not know.
func bodyJSON(r *pb.Resource) (json.RawMessage, error) {
	m, err := catalog.Decode(r)
	if m == nil || err != nil {
		return json.RawMessage("null"), err
	}
	return protoJSON(m)
}

func newCatalogDiff(e *env) *cobra.Command {
	return &cobra.Command{
		Use:               "diff A [B]",
		Short:             "Compare two revisions by effective values",
		Long:              "Shows what changes from A to B; without B, to the newest published revision. Each is a revision's number or a tag.",
		Example:           "  pointsman catalog diff 11 12",
		Args:              takes(1, 2),
		ValidArgsFunction: e.completeRevisions,
		RunE: func(cmd *cobra.Command, args []string) error {
			request := &pb.DiffRequest{Namespace: e.namespace}
			var err error
			if request.From, err = e.resolve(cmd.Context(), args[0]); err != nil {
				return err
			}
			if len(args) == 2 {
				if request.To, err = e.resolve(cmd.Context(), args[1]); err != nil {
					return err
				}
			}
			answer, err := call(cmd.Context(), e, services.Diff, request)
			if err != nil {
				return err
			}
			return e.print(answer, func(w io.Writer) {
				printChanges(w, answer.Changes)
				fmt.Fprintln(w, countChanges(answer.Changes))
			})
		},
	}
}
