package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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
	Store       string          `json:"store"` // its id: the same number is another revision elsewhere
	Base        uint64          `json:"base"`
	Digest      []byte          `json:"digest"` // of the effective resources
	Sources     json.RawMessage `json:"sources"`
	ToolVersion string          `json:"tool_version"`
}

// writePlan makes a file that only its owner may read: variables' values are nobody else's business.
func (e *env) writePlan(ctx context.Context, path string, sources *pb.Sources, plan *pb.PlanResponse) error {
	store, err := e.store(ctx)
	if err != nil {
		return err
	}
	encoded, err := protojson.Marshal(sources)
	if err != nil {
		return fmt.Errorf("encode the plan: %w", err)
	}
	data, err := json.Marshal(planFile{planFormat, e.namespace, store, plan.Base, plan.Digest, encoded, daemon.Version()})
	if err != nil {
		return fmt.Errorf("encode the plan: %w", err)
	}
	if err := replaceFile(path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	return nil
}

// store is the id of the store behind the control plane.
func (e *env) store(ctx context.Context) (string, error) {
	answer, err := call(ctx, e, services.History, &pb.HistoryRequest{Namespace: e.namespace, Limit: 1})
	return answer.GetHead().GetStoreId(), err
}

// checkPlan refuses a plan whose sources no longer give what was planned, and one of another store.
func (e *env) checkPlan(ctx context.Context, p *planFile, sources *pb.Sources) error {
	store, err := e.store(ctx)
	if err != nil {
		return err
	}
	if store != p.Store {
		return &failure{code: exitFailed, err: fmt.Errorf("the plan was made for store %q; %q is behind %s", p.Store, store, e.address()), next: "plan again, or give the -addr that it was made with"}
	}
	now, err := call(ctx, e, services.Plan, &pb.PlanRequest{Namespace: e.namespace, Sources: sources})
	if err != nil {
		return err
	}
	if !bytes.Equal(now.GetDigest(), p.Digest) {
		return &failure{code: exitFailed, err: errors.New("the plan's sources do not give what was planned: the file was changed, or the control plane evaluates them otherwise by now"), next: "plan again"}
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
		err = fmt.Errorf("not what `catalog plan -out` writes: %w", err)
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
