package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// gates answers as the libraries do, by their code, so that validation and routing cannot disagree.
type gates struct {
	snapshot *route.Snapshot
}

// Pools that only the gates are asked about have names that no block can have.
const (
	toolPool      = "tool/"
	residencePool = "residence/"
)

// gatesOf compiles a set as a library would. Whether a library can run a workload's strategy is
// another question: here every pool has one that all can.
func gatesOf(s *set) (*gates, error) {
	asked := *s
	asked.tenants = nil // what they reserve is judged where it is written
	asked.workloads = map[string]*pb.Workload{}
	for name, w := range s.workloads {
		asked.workloads[name] = pool(name, w.Apis, w.Contract, w.Tiers)
	}
	for name, t := range s.tools {
		asked.workloads[toolPool+name] = pool(toolPool+name, t.Apis, nil, t.Tiers)
	}
	apis, everywhere := allEndpoints(s)
	for _, t := range s.tenants {
		if name := residence(t); asked.workloads[name] == nil {
			asked.workloads[name] = pool(name, apis, &pb.Contract{Regions: t.Regions, Compliance: t.Compliance}, everywhere)
		}
	}
	resources, err := asked.resources()
	if err != nil {
		return nil, err
	}
	c, _, err := wire.Catalog(stateOf(resources), false)
	if err != nil {
		return nil, err
	}
	snapshot, err := route.Compile(nil, c, nil, route.Local{})
	return &gates{snapshot}, err
}

func pool(name string, apis []string, c *pb.Contract, tiers []*pb.Tier) *pb.Workload {
	return &pb.Workload{
		Name: name, Apis: apis, Contract: c, Tiers: tiers,
		Balance: &pb.Balance{Strategy: defaultStrategy}, Attempts: defaultAttempts(),
	}
}

// residence names the pool of what a tenant's regions and compliance allow; many tenants share one.
func residence(t *pb.Tenant) string {
	return residencePool + strings.Join(t.Regions, ",") + "/" + strings.Join(t.Compliance, ",")
}

func allEndpoints(s *set) (apis []string, everywhere []*pb.Tier) {
	for _, e := range s.endpoints {
		apis = append(apis, e.Apis...)
	}
	slices.Sort(apis)
	return slices.Compact(apis), []*pb.Tier{{Name: "all", Endpoints: keys(s.endpoints)}}
}

func (g *gates) answer(pool, endpoint string) route.Reason { return g.snapshot.Static(pool, endpoint) }

// tally counts answers for people: ": 3 api, 1 region".
func tally(counts map[route.Reason]int) string {
	var parts []string
	for r := range route.Reasons {
		if n := counts[r]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, r))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}
