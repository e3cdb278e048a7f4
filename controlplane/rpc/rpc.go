// Package rpc is the control plane's services for people and automation: the catalog, the
// fleet, and the control plane itself. They translate, call and return; what is decided is decided in
// controlplane/catalog, controlplane/store and clientlib/route.
package rpc

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/pointsman/pointsman/clientlib/wire"
	"github.com/pointsman/pointsman/controlplane/access"
	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// DefaultNamespace is what an empty namespace means: catalog_service.proto.
const DefaultNamespace = "default"

// Config is what the services call.
type Config struct {
	Store     *store.Store
	Namespace string // the one that this replica serves
	Version   string // of this replica
	Now       func() int64
	Live      func() Live
	Leaves    func() []*pb.LeafState
	// Ask puts a question to one leaf, wherever it is connected; nil: nobody can be asked.
	Ask func(ctx context.Context, leaf string, q *pb.Question) (*pb.Answer, error)
	// Leader is a connection to the replica that leads, when it is another; nil: there never is one.
	Leader func() (grpc.ClientConnInterface, bool)
	// Changed is closed at the next change of Live, as of the moment it is called; nil: ask again and again.
	Changed func() <-chan struct{}
	Access  *access.Guard // who may do what, for what makes tokens and says who asks; nil: nobody looks
	// Stopping is closed when the replica stops: streams end, so that nobody waits for them; nil: they do not.
	Stopping <-chan struct{}
}

// Live is what a replica serves and knows at one moment. Nobody changes what it points to.
type Live struct {
	Head      *pb.Head // nil: none was read yet
	Overrides []*pb.StoredOverride
	Catalog   *wire.State // nil: nothing is served yet
	Confirmed time.Time   // when Head was last known to be the newest
	Away      error       // why etcd cannot be reached; nil: it can
	Fleet     *wire.State // nil: nobody judges yet
	Judged
	Leader *pb.Leader // nil: nobody leads
	Leads  bool       // this replica does
	Alarms []string   // what somebody must look at
}

// Judged is what the leader knows of the fleet beside the state that is served. A replica that
// does not lead has none of it, but the term.
type Judged struct {
	Term      uint64
	Evidence  map[string][]string // why breakers are not closed, by endpoint
	Witnesses map[string]uint64   // nodes that use it lately, by endpoint
	Spent     []*pb.SpentQuota
	Shedding  []*pb.SheddingWorkload
	Reaches   map[string]Reach // by endpoint
}

// Reach is how many nodes' probes found an endpoint.
type Reach struct {
	Reached, Unreached uint32
	Reason             string // of the last of those that did not, and why: "node: reason"
}

// Register adds the three services to a server.
func Register(s grpc.ServiceRegistrar, c Config) {
	pb.RegisterCatalogServiceServer(s, &catalogService{Config: c})
	fleet := &fleetService{Config: c, streams: make(streams, maxStreams)}
	pb.RegisterFleetServiceServer(s, fleet)
	pb.RegisterOperatorServiceServer(s, &operatorService{Config: c, fleet: fleet})
}

func namespace(name string) string {
	if name == "" {
		return DefaultNamespace
	}
	return name
}
