package route

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
)

// Instances are the many addresses of one endpoint.
type Instances struct {
	DNS       string   // host:port, which the leader resolves; or
	Addresses []string // host:port
}

// some tells whether the endpoint has instances at all.
func (in *Instances) some() bool { return in.DNS != "" || len(in.Addresses) > 0 }

func (in *Instances) same(o *Instances) bool {
	return in.DNS == o.DNS && slices.Equal(in.Addresses, o.Addresses)
}

// FleetInstances are the addresses that the leader found for an endpoint. None at all: those
// that were found before are not its any more.
type FleetInstances struct {
	Endpoint  string
	Instances []FleetInstance
}

// FleetInstance is one of them.
type FleetInstance struct {
	Address  string
	Identity uint64 // as the leader's catalog has it, for who cannot work it out
}

// Awaits tells that the endpoint's instances are not known yet: nothing can be sent to it.
func (e *Endpoint) Awaits() bool { return e.Instances.some() }

// InstanceName is what the instance at an address is called.
func InstanceName(endpoint, address string) string { return endpoint + "@" + address }

// Declared is the endpoint of the catalog that a name is an instance of; any other name is
// its own.
func Declared(name string) string {
	endpoint, _, _ := strings.Cut(name, "@")
	return endpoint
}

// Expand makes an endpoint of each instance, with an address, an identity, a concurrency and
// a capacity of its own; all else it has of the endpoint that was declared, whose place it
// takes in tiers and under overrides. An endpoint whose instances are not known yet stays,
// without an address. A catalog without instances comes back as it is.
func Expand(c *Catalog, in []FleetInstances) *Catalog {
	if !c.hasInstances() {
		return c
	}
	x := expansion{found: make(map[string][]string, len(in)), made: map[string][]string{}}
	for i := range in {
		x.found[in[i].Endpoint] = in[i].Addresses()
	}
	out := *c
	out.Endpoints = x.endpoints(c.Endpoints)
	out.Workloads = x.workloads(c.Workloads)
	out.Overrides = x.overrides(c.Overrides)
	return &out
}

func (c *Catalog) hasInstances() bool {
	for i := range c.Endpoints {
		if c.Endpoints[i].Instances.some() {
			return true
		}
	}
	return false
}

// Addresses are those of all instances.
func (f *FleetInstances) Addresses() []string {
	all := make([]string, len(f.Instances))
	for i := range f.Instances {
		all[i] = f.Instances[i].Address
	}
	return all
}

// same tells whether the same endpoints come of both.
func (f FleetInstances) same(o FleetInstances) bool {
	return f.Endpoint == o.Endpoint && slices.EqualFunc(f.Instances, o.Instances, func(a, b FleetInstance) bool { return a.Address == b.Address })
}

// instances are the leader's, if there is any word of it.
func (f *Fleet) instances() []FleetInstances {
	if f == nil {
		return nil
	}
	return f.Instances
}

// Keep is the overlay with the instances of was that it has no word on, of endpoints that c
// has: a leader that has just begun knows of none yet, and they stay while all else expires
// (protocol.md, rule 1).
func (f *Fleet) Keep(was *Fleet, c *Catalog) *Fleet {
	if was == nil || len(was.Instances) == 0 {
		return f
	}
	missing := map[string]bool{}
	for i := range c.Endpoints {
		missing[c.Endpoints[i].Name] = c.Endpoints[i].Instances.DNS != ""
	}
	for i := range f.Instances {
		delete(missing, f.Instances[i].Endpoint)
	}
	out := *f
	for _, in := range was.Instances {
		if missing[in.Endpoint] {
			out.Instances = append(slices.Clip(out.Instances), in)
		}
	}
	if len(out.Instances) == len(f.Instances) {
		return f
	}
	return &out
}

type expansion struct {
	found map[string][]string // addresses, by endpoint
	made  map[string][]string // names of the instances, by endpoint
}

func (x *expansion) endpoints(declared []Endpoint) []Endpoint {
	out := make([]Endpoint, 0, len(declared))
	for i := range declared {
		e := &declared[i]
		if !e.Instances.some() {
			out = append(out, *e)
			continue
		}
		addresses := e.Instances.Addresses
		if e.Instances.DNS != "" {
			addresses = x.found[e.Name]
		}
		addresses = slices.Compact(slices.Sorted(slices.Values(addresses)))
		for _, address := range addresses {
			instance := e.At(address)
			x.made[e.Name] = append(x.made[e.Name], instance.Name)
			out = append(out, instance)
		}
		if len(addresses) == 0 {
			out = append(out, *e)
			out[len(out)-1].BaseURL = "" // the provider's is only the form of theirs
		}
	}
	return out
}

// At is the instance of the endpoint at an address.
func (e *Endpoint) At(address string) Endpoint {
	instance := *e
	instance.Name, instance.Instances = InstanceName(e.Name, address), Instances{}
	instance.BaseURL = instanceURL(e, address)
	instance.Identity = instance.identity()
	return instance
}

// instanceURL has the scheme and path of the provider's address. Model servers serve their
// API below /v1 (catalog.md: instances); tools where they like.
func instanceURL(e *Endpoint, address string) string {
	scheme, rest, ok := strings.Cut(e.BaseURL, "://")
	switch {
	case !ok && e.Model == "":
		return "http://" + address
	case !ok:
		return "http://" + address + "/v1"
	}
	path := ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		path = rest[i:]
	}
	return scheme + "://" + address + path
}

// identity is of an endpoint with one address as the catalog makes it (control-plane.md,
// identity of an endpoint).
func (e *Endpoint) identity() uint64 {
	h := sha256.New()
	for _, part := range []string{e.BaseURL, e.Artifact, e.WireModel, e.Region, e.Provider} {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part)))) // a hash never fails
		h.Write([]byte(part))
	}
	return binary.BigEndian.Uint64(h.Sum(nil))
}

// workloads have instances where their tiers name the endpoint.
func (x *expansion) workloads(declared []Workload) []Workload {
	out := slices.Clone(declared)
	for i := range out {
		tiers := out[i].Tiers
		for k := range tiers {
			if !slices.ContainsFunc(tiers[k].Endpoints, x.has) {
				continue
			}
			if &out[i].Tiers[0] == &declared[i].Tiers[0] {
				out[i].Tiers = slices.Clone(tiers)
			}
			out[i].Tiers[k].Endpoints = x.names(tiers[k].Endpoints)
		}
	}
	return out
}

func (x *expansion) has(endpoint string) bool { return len(x.made[endpoint]) > 0 }

func (x *expansion) names(endpoints []string) []string {
	var out []string
	for _, name := range endpoints {
		if made := x.made[name]; len(made) > 0 {
			out = append(out, made...)
		} else {
			out = append(out, name)
		}
	}
	return out
}

// overrides of an endpoint are its instances'; those of one instance come after, and so win.
func (x *expansion) overrides(declared []Override) []Override {
	var out []Override
	for _, o := range declared {
		for _, name := range x.made[o.Endpoint] {
			o.Endpoint = name
			out = append(out, o)
		}
	}
	for _, o := range declared {
		if !x.has(o.Endpoint) {
			out = append(out, o)
		}
	}
	return out
}

// MostInstances is how many addresses one endpoint may have.
const MostInstances = 1000

// Address tells whether text is host:port as it can stand in a URL and in a name.
func Address(text string) bool {
	i := strings.LastIndexByte(text, ':')
	if i < 1 || len(text) > 300 {
		return false
	}
	host, port := text[:i], text[i+1:]
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return false
	}
	of := "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
	if inner, ok := strings.CutPrefix(host, "["); ok {
		if host, ok = strings.CutSuffix(inner, "]"); !ok {
			return false
		}
		of = "abcdefABCDEF0123456789:."
	}
	return host != "" && strings.Trim(host, of) == ""
}
