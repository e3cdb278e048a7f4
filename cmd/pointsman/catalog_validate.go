package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib/wire"
	"github.com/pointsman/pointsman/controlplane/catalog"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func newCatalogValidate(e *env) *cobra.Command {
	var f folder
	cmd := &cobra.Command{
		Use:               "validate [DIR]",
		Short:             "Report everything that is wrong with a catalog",
		Long:              "Compiles a folder of *.hcl files here, without a control plane, and reports every error and warning at once.",
		Example:           "  pointsman catalog validate deploy/examples/catalog -var region=eu",
		Args:              takes(0, 1),
		ValidArgsFunction: completeDirs,
		RunE: func(_ *cobra.Command, args []string) error {
			result, err := f.compile(e, dirArg(args))
			if err != nil {
				return err
			}
			return e.print(&pb.CatalogFindings{Findings: result.Findings}, func(w io.Writer) {
				e.report(result.Findings)
				fmt.Fprintln(w, "valid: "+countResources(result.Resources))
			})
		},
	}
	f.flags(cmd.Flags())
	return cmd
}

func newCatalogCompile(e *env) *cobra.Command {
	var f folder
	var out string
	cmd := &cobra.Command{
		Use:   "compile [DIR] -out FILE",
		Short: "Write a catalog as a snapshot that a library can start from",
		Long: `Compiles a folder of *.hcl files here and writes the snapshot that the library takes as Snapshot or Bootstrap: what it
runs on when no control plane answers. Anything published is newer. "-out -" is standard output.`,
		Example:           "  pointsman catalog compile deploy/examples/catalog -out snapshot.bin",
		Args:              takes(0, 1),
		ValidArgsFunction: completeDirs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return usagef(cmd, "no file to write: give -out FILE")
			}
			result, err := f.compile(e, dirArg(args))
			if err != nil {
				return err
			}
			e.report(result.Findings)
			return e.writeSnapshot(out, result.Resources)
		},
	}
	f.flags(cmd.Flags())
	cmd.Flags().StringVar(&out, "out", "", "`file` to write")
	return cmd
}

// compile fails with every finding printed if one is an error.
func (f *folder) compile(e *env, dir string) (*catalog.Result, error) {
	sources, err := f.load(e, dir)
	if err != nil {
		return nil, err
	}
	result := catalog.Compile(sources, catalog.Options{Now: time.Now()})
	if result.Failed() {
		return nil, refused(result.Findings)
	}
	return result, nil
}

func (e *env) writeSnapshot(out string, resources []*pb.Resource) error {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(snapshot(resources))
	switch {
	case err != nil:
		return fmt.Errorf("encode the snapshot: %w", err)
	case out == "-":
		_, err = e.stdout.Write(data)
		return err
	}
	if err := writeFile(out, data); err != nil {
		return fmt.Errorf("write the snapshot: %w", err)
	}
	if e.json {
		return e.printData(map[string]any{"file": out, "resources": len(resources), "digest": fmt.Sprintf("%x", catalog.Digest(resources))})
	}
	fmt.Fprintf(e.stdout, "%s: %s, %d bytes\n", out, countResources(resources), len(data))
	return nil
}

// snapshot is a whole state of the oldest version there is.
func snapshot(resources []*pb.Resource) *pb.Update {
	state := wire.NewState(pb.Track_TRACK_CATALOG, &pb.Version{}, catalog.Entries(resources))
	if state.Len() == 0 {
		state = state.Because(pb.EmptyReason_EMPTY_REASON_PUBLISHED_EMPTY)
	}
	return wire.Whole(0, 0, state)
}

// countResources says how many there are of each kind, in the order in which they come.
func countResources(resources []*pb.Resource) string {
	counts := map[pb.Kind]int{}
	var kinds []pb.Kind
	for _, r := range resources {
		if counts[r.Kind]++; counts[r.Kind] == 1 {
			kinds = append(kinds, r.Kind)
		}
	}
	if len(kinds) == 0 {
		return "nothing in it"
	}
	var parts []string
	for _, k := range kinds {
		parts = append(parts, plural(counts[k], kindName(k)))
	}
	return strings.Join(parts, ", ")
}
