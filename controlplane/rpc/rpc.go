// Package rpc is the control plane's two services for people and automation: the catalog
// and the fleet. They translate, call and return; what is decided is decided in
// controlplane/catalog, controlplane/store and clientlib/route.
package rpc

import (
	"time"

	"google.golang.org/grpc"

	"github.com/pointsman/pointsman/clientlib/wire"
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
}

// Live is what a replica serves and knows at one moment. Nobody changes what it points to.
type Live struct {
	Head      *pb.Head // nil: none was read yet
	Overrides []*pb.StoredOverride
	Catalog   *wire.State // nil: nothing is served yet
	Fleet     *wire.State // nil: nobody judges yet
	Term      uint64
	Evidence  map[string][]string // why breakers are not closed, by endpoint
	Witnesses map[string]uint64   // nodes that use it lately, by endpoint
	Confirmed time.Time           // when Head was last known to be the newest
	Away      error               // why etcd cannot be reached; nil: it can
}

// Register adds both services to a server.
func Register(s *grpc.Server, c Config) {
	pb.RegisterCatalogServiceServer(s, &catalogService{Config: c})
	pb.RegisterFleetServiceServer(s, &fleetService{Config: c})
}

func namespace(name string) string {
	if name == "" {
		return DefaultNamespace
	}
	return name
}
