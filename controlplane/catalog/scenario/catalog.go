package scenario

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
	"github.com/pointsman/pointsman/controlplane/catalog"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// readCatalog compiles the catalog as publishing it would, and decodes it as a client would.
// Nothing of it expires: a run must not depend on the day.
func (r *reader) readCatalog() error {
	b := r.root
	b.Need("catalog")
	given := b.Given("catalog_variables")
	var path string
	if !b.Text("catalog", &path) {
		return &Error{r.doc.Findings()}
	}
	src, err := r.sources(path)
	if err != nil {
		b.Wrong("catalog", "a folder of *.hcl files, or one such file, from the scenario's folder on", "cannot be read: %v", err)
		return &Error{r.doc.Findings()}
	}
	src.Variables = given
	result := catalog.Compile(src, catalog.Options{})
	if result.Failed() {
		return &Error{slices.Concat(r.doc.Findings(), r.placed(path, result.Findings))}
	}
	return r.decode(result.Resources)
}

// placed are the errors of a catalog, by the paths of its files.
func (r *reader) placed(path string, findings []*pb.Finding) []*pb.Finding {
	folder := r.place(path)
	if strings.HasSuffix(path, ".hcl") {
		folder = filepath.Dir(folder)
	}
	var list []*pb.Finding
	for _, f := range findings {
		if f.Severity != pb.Severity_SEVERITY_ERROR {
			continue
		}
		if f.File == "" { // it is of the whole, or of a variable's value
			f.File, f.Line, f.Column = r.place(path), 1, 1
		} else {
			f.File = filepath.Join(folder, f.File)
		}
		list = append(list, f)
	}
	return list
}

func (r *reader) sources(path string) (*pb.Sources, error) {
	path = r.place(path)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return catalog.Load(path)
	}
	content, err := readFile(path)
	return &pb.Sources{Files: []*pb.SourceFile{{Name: filepath.Base(path), Content: content}}}, err
}

func (r *reader) decode(resources []*pb.Resource) error {
	state := wire.NewState(pb.Track_TRACK_CATALOG, &pb.Version{Generation: 1, Revision: 1}, catalog.Entries(resources))
	c, _, err := wire.Catalog(state, false)
	if err != nil {
		r.root.Wrong("catalog", "", "cannot be used: %v", err)
		return &Error{r.doc.Findings()}
	}
	if len(c.Endpoints) > maxEndpoints {
		r.root.Wrong("catalog", "take some out", "has %d endpoints; a scenario plays with %d at most", len(c.Endpoints), maxEndpoints)
		return &Error{r.doc.Findings()}
	}
	r.catalog = c
	r.expand()
	return nil
}

// expand makes an endpoint of each instance. No name is resolved: the scenario says how many
// addresses are behind one, or it is one.
func (r *reader) expand() {
	found := r.root.Numbers("instances", 1, maxEndpoints)
	known := map[string]bool{}
	for i := range r.catalog.Endpoints {
		e := &r.catalog.Endpoints[i]
		if e.Instances.DNS == "" {
			continue
		}
		known[e.Name] = true
		e.Instances = route.Instances{Addresses: addresses(int(found[e.Name]))}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if !known[name] {
			r.root.Wrong("instances", catalog.Meant(name, slices.Sorted(maps.Keys(known))), "has %s, which is no endpoint whose instances a name resolves to", catalog.Quote(name))
		}
	}
	r.catalog = route.Expand(r.catalog, nil)
}

// prune takes out what no traffic can reach: it needs no model, and no fault befalls it.
func (r *reader) prune() {
	asked, reached := map[string]bool{}, map[string]bool{}
	for _, b := range r.root.All("traffic", 1) {
		var name string
		if !b.Text("workload", &name) || r.workload(name) == nil {
			return // which is said where the traffic is read
		}
		asked[name] = true
	}
	c := r.catalog
	c.Workloads = slices.DeleteFunc(c.Workloads, func(w route.Workload) bool { return !asked[w.Name] })
	for i := range c.Workloads {
		for _, t := range c.Workloads[i].Tiers {
			for _, name := range t.Endpoints {
				reached[name] = true
			}
		}
	}
	c.Endpoints = slices.DeleteFunc(c.Endpoints, func(e route.Endpoint) bool { return !reached[e.Name] })
}

func addresses(n int) []string {
	list := make([]string, max(n, 1))
	for i := range list {
		list[i] = fmt.Sprintf("instance-%d:80", i+1)
	}
	return list
}

// workload finds a workload.
func (r *reader) workload(name string) *route.Workload {
	for i := range r.catalog.Workloads {
		if w := &r.catalog.Workloads[i]; w.Name == name {
			return w
		}
	}
	return nil
}

func (r *reader) endpoint(name string) *route.Endpoint {
	for i := range r.catalog.Endpoints {
		if e := &r.catalog.Endpoints[i]; e.Name == name {
			return e
		}
	}
	return nil
}

func names[T any](all []T, name func(*T) string) []string {
	list := make([]string, 0, len(all))
	for i := range all {
		list = append(list, name(&all[i]))
	}
	return list
}

func (r *reader) endpointNames() []string {
	return names(r.catalog.Endpoints, func(e *route.Endpoint) string { return e.Name })
}

func (r *reader) workloadNames() []string {
	return names(r.catalog.Workloads, func(w *route.Workload) string { return w.Name })
}

func (r *reader) tenantNames() []string {
	if len(r.catalog.Tenants) == 0 {
		return []string{"default"}
	}
	return names(r.catalog.Tenants, func(t *route.Tenant) string { return t.Name })
}
