package route_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pointsman/pointsman/clientlib/route"
)

// own is a catalog with a hosted endpoint, one whose name the leader resolves, and one of a list.
func own() *route.Catalog {
	s := newStage()
	for _, name := range []string{"hosted", "own", "listed"} {
		s.declare(parse(fmt.Sprintf("endpoint %s identity=7 region=eu weight=50 concurrency=4", name)))
	}
	c := &s.catalog
	c.Version.Generation = 1
	at := func(name string) *route.Endpoint {
		return &c.Endpoints[slices.IndexFunc(c.Endpoints, func(e route.Endpoint) bool { return e.Name == name })]
	}
	at("hosted").BaseURL = "https://api.example/v1"
	at("own").BaseURL, at("own").Instances = "", route.Instances{DNS: "vllm:8000"}
	at("listed").BaseURL, at("listed").Instances = "https://cluster.example/openai/v1", route.Instances{Addresses: []string{"10.1.0.2:80", "10.1.0.1:80", "10.1.0.2:80"}}
	w := s.workload(parse("workload w tiers=t:hosted,own,listed"))
	w.Tiers = []route.Tier{{Name: "t", Endpoints: []string{"hosted", "listed", "own"}}}
	c.Workloads = []route.Workload{w}
	return c
}

func found(addresses ...string) []route.FleetInstances {
	in := route.FleetInstances{Endpoint: "own"}
	for _, a := range addresses {
		in.Instances = append(in.Instances, route.FleetInstance{Address: a})
	}
	return []route.FleetInstances{in}
}

func endpointsOf(c *route.Catalog) map[string]string {
	out := map[string]string{}
	for _, e := range c.Endpoints {
		out[e.Name] = e.BaseURL
	}
	return out
}

func TestAnInstanceIsAnEndpointAtItsOwnAddress(t *testing.T) {
	c := own()
	x := route.Expand(c, found("10.0.0.2:8000", "[fd00::1]:8000"))
	want := map[string]string{
		"hosted": "https://api.example/v1", "own@10.0.0.2:8000": "http://10.0.0.2:8000/v1", "own@[fd00::1]:8000": "http://[fd00::1]:8000/v1",
		"listed@10.1.0.1:80": "https://10.1.0.1:80/openai/v1", "listed@10.1.0.2:80": "https://10.1.0.2:80/openai/v1",
	}
	if diff := cmp.Diff(want, endpointsOf(x)); diff != "" {
		t.Error(diff)
	}
	tier := []string{"hosted", "listed@10.1.0.1:80", "listed@10.1.0.2:80", "own@10.0.0.2:8000", "own@[fd00::1]:8000"}
	if diff := cmp.Diff(tier, x.Workloads[0].Tiers[0].Endpoints); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(own(), c); diff != "" {
		t.Errorf("the catalog itself changed: %s", diff)
	}
	if e := x.Endpoints[1]; e.Weight != 50 || e.Concurrency != 4 || e.Region != "eu" {
		t.Errorf("what it shares with its endpoint: %+v", e)
	}
}

// control-plane.md, identity of an endpoint: an address of its own is a health of its own.
func TestAnInstanceHasAnIdentityOfItsOwnThatLastsAsLongAsWhatItIs(t *testing.T) {
	at := func(change func(*route.Endpoint), address string) uint64 {
		e := own().Endpoints[1]
		change(&e)
		return e.At(address).Identity
	}
	same := func(*route.Endpoint) {}
	first := at(same, "10.0.0.1:8000")
	if first == 7 || at(same, "10.0.0.1:8000") != first {
		t.Error("it is its endpoint's, or another each time")
	}
	for name, change := range map[string]func(*route.Endpoint){
		"artifact": func(e *route.Endpoint) { e.Artifact += "x" }, "wire model": func(e *route.Endpoint) { e.WireModel += "x" },
		"region": func(e *route.Endpoint) { e.Region += "x" }, "provider": func(e *route.Endpoint) { e.Provider += "x" },
	} {
		if at(change, "10.0.0.1:8000") == first {
			t.Errorf("another %s, and the same identity", name)
		}
	}
	if at(same, "10.0.0.2:8000") == first {
		t.Error("another address, and the same identity")
	}
	if at(func(e *route.Endpoint) { e.Instances.DNS = "elsewhere:8000" }, "10.0.0.1:8000") != first {
		t.Error("under another name the same server begins anew")
	}
}

func TestAnEndpointWithoutKnownInstancesIsNoCandidateAndSaysSo(t *testing.T) {
	r := route.NewRouter()
	r.Apply(1, compile(t, nil, own(), nil))
	x := r.Explain(2, "w", route.Request{})
	reasons := map[string]route.Reason{}
	for _, c := range x.Candidates {
		reasons[c.Endpoint] = c.Reason
	}
	if reasons["own"] != route.ReasonUnsupported || reasons["listed@10.1.0.1:80"] != route.Pass || len(reasons) != 4 {
		t.Errorf("reasons: %v", reasons)
	}
	c := own()
	c.Overrides = []route.Override{{Endpoint: "own", Weight: 1000}}
	c.Workloads[0].Tiers[0].Endpoints = []string{"own"}
	r.Apply(3, compile(t, nil, c, nil))
	call := r.Begin(4, "w", route.Request{})
	if s := r.Next(4, 1, &call); s.Kind == route.Send {
		t.Errorf("sent to %q", s.Endpoint.BaseURL)
	}
}

func TestEachInstanceIsBrokenAndLimitedByItself(t *testing.T) {
	c := own()
	c.Workloads[0].Tiers[0].Endpoints = []string{"own"}
	r := route.NewRouter()
	r.Apply(1, compile(t, nil, c, &route.Fleet{Instances: found("10.0.0.1:8000", "10.0.0.2:8000")}))
	used := map[string]int{}
	for i := range 8 { // concurrency is 4, of each
		call := r.Begin(2, "w", route.Request{})
		s := r.Next(2, uint32(i), &call)
		if s.Kind != route.Send {
			t.Fatalf("call %d: %v", i, s.Err)
		}
		used[s.Endpoint.Name]++
	}
	if used["own@10.0.0.1:8000"] != 4 || used["own@10.0.0.2:8000"] != 4 {
		t.Errorf("used: %v", used)
	}
	call := r.Begin(2, "w", route.Request{})
	if s := r.Next(2, 9, &call); s.Kind == route.Send {
		t.Error("a ninth call went through")
	}
}

func TestADrainIsOfAllInstancesOrOfOne(t *testing.T) {
	at := func(overrides ...route.Override) map[string]route.Reason {
		c := own()
		c.Overrides = overrides
		r := route.NewRouter()
		r.Apply(1, compile(t, nil, c, &route.Fleet{Instances: found("10.0.0.1:8000", "10.0.0.2:8000")}))
		out := map[string]route.Reason{}
		for _, c := range r.Explain(2, "w", route.Request{}).Candidates {
			if c.Reason != route.Pass {
				out[c.Endpoint] = c.Reason
			}
		}
		return out
	}
	drain := func(name string) route.Override {
		return route.Override{Endpoint: name, Drain: true, Weight: route.Absent}
	}
	if got := at(drain("own")); len(got) != 2 || got["own@10.0.0.1:8000"] != route.ReasonDrained || got["own@10.0.0.2:8000"] != route.ReasonDrained {
		t.Errorf("of the endpoint: %v", got)
	}
	if got := at(drain("own@10.0.0.2:8000")); len(got) != 1 || got["own@10.0.0.2:8000"] != route.ReasonDrained {
		t.Errorf("of one instance: %v", got)
	}
	open, closed := route.Override{Endpoint: "own", Forced: route.ForcedOpen, Weight: route.Absent}, route.Override{Endpoint: "own@10.0.0.1:8000", Forced: route.ForcedClosed, Weight: route.Absent}
	if got := at(closed, open); len(got) != 1 || got["own@10.0.0.2:8000"] != route.ReasonBreakerOpen {
		t.Errorf("the word on one instance does not win: %v", got)
	}
}

// protocol.md, rule 1: instances stay. What was learned of those in both is kept.
func TestInstancesComeAndGoAndTheOthersKeepWhatWasLearned(t *testing.T) {
	c, r := own(), route.NewRouter()
	c.Workloads[0].Tiers[0].Endpoints = []string{"own"}
	first := compile(t, nil, c, &route.Fleet{Instances: found("10.0.0.1:8000", "10.0.0.2:8000")})
	r.Apply(1, first)
	for i := range 20 {
		call := r.Begin(2, "w", route.Request{})
		s := r.Next(2, uint32(i), &call)
		if s.Kind != route.Send {
			break
		}
		r.Settle(3, s.Attempt, route.Outcome{Kind: route.Faulted})
	}
	second := compile(t, first, c, &route.Fleet{Instances: found("10.0.0.2:8000", "10.0.0.3:8000")})
	r.Apply(4, second)
	local := map[string]string{}
	for _, e := range r.Endpoints(5, nil) {
		local[e.Name] = e.Local
	}
	if local["own@10.0.0.2:8000"] == "closed" || local["own@10.0.0.3:8000"] != "closed" || local["own@10.0.0.1:8000"] != "" {
		t.Errorf("local breakers: %v", local)
	}
	expired := &route.Fleet{}
	if s := compile(t, second, c, expired.Keep(second.Fleet(), c)); s.Catalog() != second.Catalog() {
		t.Error("an overlay without a word on instances took them away, or had them compiled anew")
	}
	none := &route.Fleet{Instances: []route.FleetInstances{{Endpoint: "own"}}}
	if got := endpointsOf(compile(t, second, c, none.Keep(second.Fleet(), c)).Catalog()); got["own@10.0.0.2:8000"] != "" {
		t.Errorf("instances that the leader took back stay: %v", got)
	}
	without := own()
	without.Endpoints = without.Endpoints[:1]
	if kept := expired.Keep(second.Fleet(), without); len(kept.Instances) > 0 {
		t.Errorf("kept of an endpoint that is gone: %v", kept.Instances)
	}
}

func TestExpandingAgainChangesNothing(t *testing.T) {
	in := found("10.0.0.1:8000")
	once := route.Expand(own(), in)
	if diff := cmp.Diff(once, route.Expand(once, in)); diff != "" {
		t.Error(diff)
	}
	plain := large(2, 1)
	if route.Expand(plain, in) != plain {
		t.Error("a catalog without instances is copied")
	}
}

func TestTheContractIsAskedOfAnEndpointWhateverItsInstances(t *testing.T) {
	s := compile(t, nil, own(), nil)
	for _, name := range []string{"hosted", "own", "listed"} {
		if got := s.Static("w", name); got != route.Pass {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := s.Static("w", "liste"); got != route.ReasonUnsupported {
		t.Errorf("of a name that is none: %v", got)
	}
}

func TestAddressesThatAreNone(t *testing.T) {
	for text, want := range map[string]bool{
		"10.0.0.1:8000": true, "vllm.inference.svc:80": true, "[fd00::1]:8000": true, "a:1": true, "a_b-c.d:65535": true,
		"": false, "a": false, ":80": false, "a:": false, "a:0": false, "a:65536": false, "a:+1": false, "a b:80": false, "a/b:80": false,
		"user@a:80": false, "a?x:80": false, "a#x:80": false, "[fd00::1:8000": false, "[]:80": false, "fd00::1:80": false, "[fe80::1%25eth0]:80": false, "[a]b]:1": false,
	} {
		if got := route.Address(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestWrongInstancesAreRefusedByName(t *testing.T) {
	c := own()
	c.Endpoints[2].Instances.Addresses = []string{"x@y:80"}
	if _, err := route.Compile(nil, c, nil, route.Local{}); err == nil {
		t.Error("a wrong address in a list")
	}
	f := &route.Fleet{Instances: found("10.0.0.1/x:80")}
	if _, err := route.Compile(nil, own(), f, route.Local{}); err == nil {
		t.Error("a wrong address of the leader's")
	}
}

// BenchmarkExpand has as many endpoints as BenchmarkCompile, ten instances to each of a hundred.
func BenchmarkExpand(b *testing.B) {
	c, f := large(100, 200), &route.Fleet{}
	for i := range c.Endpoints {
		c.Endpoints[i].Instances = route.Instances{DNS: "x:1"}
		in := route.FleetInstances{Endpoint: c.Endpoints[i].Name}
		for k := range 10 {
			in.Instances = append(in.Instances, route.FleetInstance{Address: fmt.Sprintf("10.0.%d.%d:80", i, k)})
		}
		f.Instances = append(f.Instances, in)
	}
	prev := compile(b, nil, c, f)
	b.Run("overlay", func(b *testing.B) {
		for b.Loop() {
			again := *f
			compile(b, prev, c, &again)
		}
	})
	b.Run("whole", func(b *testing.B) {
		for b.Loop() {
			compile(b, nil, c, f)
		}
	})
}
