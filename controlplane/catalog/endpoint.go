package catalog

import (
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/zclconf/go-cty/cty"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

var engines = []string{"vllm", "sglang", "triton", "tgi"}

// withoutModel are the dialects whose endpoints may be tools.
var withoutModel = []string{"http", "grpc"}

func (c *compiler) readEndpoint(b *block) {
	e := &pb.Endpoint{Name: b.name}
	b.ask("for_each")
	b.need("provider", "apis")
	b.ref("provider", "provider", &e.Provider)
	b.ref("model", "model", &e.Model)
	provider := c.catalog.providers[e.Provider]
	if !b.has("model") && provider != nil && !slices.Contains(withoutModel, provider.Dialect) {
		b.need("model")
	}
	e.WireModel = e.Model
	b.text("wire_model", &e.WireModel)
	b.texts("apis", &e.Apis)
	b.texts("adapters", &e.Adapters)
	b.text("region", &e.Region)
	b.names("quotas", "quota", &e.Quotas)
	b.text("credential", &e.Credential)
	b.texts("compliance", &e.Compliance)
	b.optional("weight", 0, maxWeight, &e.Weight)
	b.optional("concurrency", 0, maxCount, &e.Concurrency)
	e.Instances = readInstances(b)
	e.Capacity = readCapacity(b.one("capacity"))
	b.choice("metrics", engines, &e.Metrics)
	e.Breaker = c.endpointBreaker(b, e)
	e.Identity = identity(e, provider, c.catalog.models[e.Model])
	c.catalog.endpoints[b.name] = e
}

// endpointBreaker is the default, under the policies of the first of endpoint, model and provider
// that has one, under the endpoint's own block.
func (c *compiler) endpointBreaker(b *block, e *pb.Endpoint) *pb.BreakerPolicy {
	p := defaultBreaker()
	used := breakerOf(b.use())
	if used == nil {
		used = c.breakers["model."+e.Model]
	}
	if used == nil {
		used = c.breakers["provider."+e.Provider]
	}
	used.apply(p)
	patchOf(b.one("breaker"), breakerAttributes).apply(p)
	path := b.path + ".breaker"
	if p.CooldownMaxUs < p.CooldownUs {
		c.fail(path, "cooldown doubles up to cooldown_max", "cooldown %s is longer than cooldown_max %s", micros(p.CooldownUs), micros(p.CooldownMaxUs))
	}
	if p.SlowWindowUs < p.WindowUs {
		c.fail(path, "the slow window sees what the fast one is too short for", "window %s is longer than slow_window %s", micros(p.WindowUs), micros(p.SlowWindowUs))
	}
	return p
}

func micros(us int64) string { return short(time.Duration(us) * time.Microsecond) }

// readInstances reads dns("host:port"), or a list of such addresses.
func readInstances(b *block) *pb.Instances {
	v, ok := b.value("instances")
	if !ok {
		return nil
	}
	if t := v.Type(); t.IsObjectType() && t.HasAttribute("dns") && t.AttributeType("dns") == cty.String && !v.GetAttr("dns").IsNull() {
		address := v.GetAttr("dns").AsString()
		b.checkAddress(address)
		return &pb.Instances{Dns: address}
	}
	in := &pb.Instances{}
	if !b.texts("instances", &in.Addresses) {
		return nil
	}
	if len(in.Addresses) == 0 {
		b.wrong("instances", `dns("host:port"), or a list of host:port`, "is empty")
	}
	for _, address := range in.Addresses {
		b.checkAddress(address)
	}
	return in
}

func (b *block) checkAddress(address string) {
	host, port, err := net.SplitHostPort(address)
	n, numeric := strconv.Atoi(port)
	if err != nil || host == "" || numeric != nil || n < 1 || n > 65535 {
		b.wrong("instances", "host:port", "has %s, which is no address", quote(address))
	}
}

func readCapacity(b *block) *pb.Capacity {
	if b == nil {
		return nil
	}
	c := &pb.Capacity{}
	b.whole("slots", 1, maxCount, &c.Slots)
	b.whole("prefill_tps", 1, maxCount, &c.PrefillTps)
	b.duration("tpot", time.Microsecond, time.Minute, &c.TpotUs)
	b.close()
	return c
}
