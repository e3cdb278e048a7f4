package main

import (
	"encoding/json"
	"fmt"
	"os"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/pointsman/pointsman/cmd/daemon"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const planFormat = 1

// planFile is what plan -out writes and publish reads: the very sources that were planned, and the revision
// that they were compared with.
type planFile struct {
	Format      int             `json:"format_version"`
	Namespace   string          `json:"namespace"`
	Base        uint64          `json:"base"`
	Digest      []byte          `json:"digest"` // of the effective resources
	Sources     json.RawMessage `json:"sources"`
	ToolVersion string          `json:"tool_version"`
}

// writePlan makes a file that only its owner may read: variables' values are nobody else's business.
func (e *env) writePlan(path string, sources *pb.Sources, plan *pb.PlanResponse) error {
	encoded, err := protojson.Marshal(sources)
	if err != nil {
		return fmt.Errorf("encode the plan: %w", err)
	}
	data, err := json.Marshal(planFile{planFormat, e.namespace, plan.Base, plan.Digest, encoded, daemon.Version()})
	if err != nil {
		return fmt.Errorf("encode the plan: %w", err)
	}
	if err := replaceFile(path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	return nil
}

// readPlan refuses a plan of another namespace or format.
func (e *env) readPlan(path string) (*planFile, *pb.Sources, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	var p planFile
	var sources pb.Sources
	switch err = json.Unmarshal(data, &p); {
	case err != nil:
	case p.Format != planFormat:
		err = fmt.Errorf("format version %d, and this program reads %d", p.Format, planFormat)
	case p.Namespace != e.namespace:
		err = fmt.Errorf("made for namespace %q, not %q", p.Namespace, e.namespace)
	default:
		err = protojson.Unmarshal(p.Sources, &sources)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("plan %s: %w", path, err)
	}
	return &p, &sources, nil
}
