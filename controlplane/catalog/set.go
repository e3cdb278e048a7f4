package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// set is a catalog's resources by name.
type set struct {
	models    map[string]*pb.Model
	providers map[string]*pb.Provider
	quotas    map[string]*pb.Quota
	endpoints map[string]*pb.Endpoint
	workloads map[string]*pb.Workload
	tools     map[string]*pb.Tool
	tenants   map[string]*pb.Tenant
}

func newSet() *set {
	return &set{
		models: map[string]*pb.Model{}, providers: map[string]*pb.Provider{}, quotas: map[string]*pb.Quota{},
		endpoints: map[string]*pb.Endpoint{}, workloads: map[string]*pb.Workload{}, tools: map[string]*pb.Tool{},
		tenants: map[string]*pb.Tenant{},
	}
}

// setOf decodes resources. Those of a kind that is not known here are left out.
func setOf(resources []*pb.Resource) (*set, error) {
	s := newSet()
	var errs []error
	for _, r := range resources {
		m, err := Decode(r)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s.put(r.GetName(), m)
	}
	return s, errors.Join(errs...)
}

// Decode reads a resource's message; nil: its kind is not known.
func Decode(r *pb.Resource) (proto.Message, error) {
	m := messageOf(r.GetKind())
	if m == nil {
		return nil, nil
	}
	if err := proto.Unmarshal(r.GetBody(), m); err != nil {
		return nil, fmt.Errorf("decode %s %q: %w", kindName(r.GetKind()), r.GetName(), err)
	}
	return m, nil
}

// messageOf is an empty message of a kind; nil: the kind is not known.
func messageOf(kind pb.Kind) proto.Message {
	switch kind {
	case pb.Kind_KIND_MODEL:
		return &pb.Model{}
	case pb.Kind_KIND_PROVIDER:
		return &pb.Provider{}
	case pb.Kind_KIND_QUOTA:
		return &pb.Quota{}
	case pb.Kind_KIND_ENDPOINT:
		return &pb.Endpoint{}
	case pb.Kind_KIND_WORKLOAD:
		return &pb.Workload{}
	case pb.Kind_KIND_TOOL:
		return &pb.Tool{}
	case pb.Kind_KIND_TENANT:
		return &pb.Tenant{}
	}
	return nil
}

func (s *set) put(name string, m proto.Message) {
	switch m := m.(type) {
	case *pb.Model:
		s.models[name] = m
	case *pb.Provider:
		s.providers[name] = m
	case *pb.Quota:
		s.quotas[name] = m
	case *pb.Endpoint:
		s.endpoints[name] = m
	case *pb.Workload:
		s.workloads[name] = m
	case *pb.Tool:
		s.tools[name] = m
	case *pb.Tenant:
		s.tenants[name] = m
	}
}

// resources encodes the set, by kind and name.
func (s *set) resources() ([]*pb.Resource, error) {
	var e encoder
	encode(&e, pb.Kind_KIND_MODEL, s.models)
	encode(&e, pb.Kind_KIND_PROVIDER, s.providers)
	encode(&e, pb.Kind_KIND_QUOTA, s.quotas)
	encode(&e, pb.Kind_KIND_ENDPOINT, s.endpoints)
	encode(&e, pb.Kind_KIND_WORKLOAD, s.workloads)
	encode(&e, pb.Kind_KIND_TOOL, s.tools)
	encode(&e, pb.Kind_KIND_TENANT, s.tenants)
	return e.resources, errors.Join(e.errs...)
}

type encoder struct {
	resources []*pb.Resource
	errs      []error
}

func encode[M proto.Message](e *encoder, kind pb.Kind, all map[string]M) {
	for _, name := range keys(all) {
		r, err := wire.Resource(kind, name, all[name])
		if err != nil {
			e.errs = append(e.errs, err)
			continue
		}
		e.resources = append(e.resources, r)
	}
}

// Entries are the resources as rows of a state, without dates.
func Entries(resources []*pb.Resource) map[wire.Key]wire.Entry {
	entries := make(map[wire.Key]wire.Entry, len(resources))
	for _, r := range resources {
		entries[wire.Key{Kind: r.GetKind(), Name: r.GetName()}] = wire.Entry{Body: r.GetBody(), Hash: wire.HashOf(r.GetBody())}
	}
	return entries
}

// stateOf is the resources as a state of the catalog's track.
func stateOf(resources []*pb.Resource) *wire.State {
	return wire.NewState(pb.Track_TRACK_CATALOG, nil, Entries(resources))
}

// Digest is of the resources, in whatever order they come: that of the state they make.
func Digest(resources []*pb.Resource) []byte { return stateOf(resources).Digest() }

// get is one resource's message; nil: it is not there.
func (s *set) get(k wire.Key) proto.Message {
	switch k.Kind {
	case pb.Kind_KIND_MODEL:
		return one(s.models, k.Name)
	case pb.Kind_KIND_PROVIDER:
		return one(s.providers, k.Name)
	case pb.Kind_KIND_QUOTA:
		return one(s.quotas, k.Name)
	case pb.Kind_KIND_ENDPOINT:
		return one(s.endpoints, k.Name)
	}
	return nil
}

// one keeps a missing message from being a nil pointer in an interface.
func one[M proto.Message](all map[string]M, name string) proto.Message {
	if m, ok := all[name]; ok {
		return m
	}
	return nil
}

func compareKeys(a, b wire.Key) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
}
