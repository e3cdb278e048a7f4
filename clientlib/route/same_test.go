package route

import (
	"reflect"
	"slices"
	"testing"

	"github.com/pointsman/pointsman/clientlib/route/money"
)

func TestWhatIsSharedIsWhatWouldBeMade(t *testing.T) {
	f := &Fleet{Endpoints: []FleetEndpoint{{Name: "e1", Identity: 1, At: 5}, {Name: "e4", Identity: 4, At: 6}}}
	for name, change := range map[string]func(*Catalog){
		"nothing":       func(*Catalog) {},
		"a weight":      func(c *Catalog) { c.Endpoints[0].Weight = 7 },
		"an identity":   func(c *Catalog) { c.Endpoints[1].Identity = 99 },
		"a window":      func(c *Catalog) { c.Endpoints[2].ContextWindow = 5000 },
		"a capability":  func(c *Catalog) { c.Endpoints[2].Capabilities = []string{"vision"} },
		"a model":       func(c *Catalog) { c.Endpoints[5].Model = "n" },
		"a band":        func(c *Catalog) { c.Workloads[2].Bands[0].UptoTokens = 800 },
		"a rule":        func(c *Catalog) { c.Workloads[2].Affinity.Rule = AffinityMedian },
		"an order":      func(c *Catalog) { slices.Reverse(c.Endpoints) },
		"one more":      func(c *Catalog) { c.Endpoints = append(c.Endpoints, Endpoint{Name: "e00", Identity: 1, Weight: 1}) },
		"one less":      func(c *Catalog) { c.Endpoints, c.Workloads = c.Endpoints[2:], c.Workloads[1:] },
		"a tier":        func(c *Catalog) { c.Workloads[0].Tiers[0].Endpoints = []string{"e5", "e1", "e1"} },
		"an override":   func(c *Catalog) { c.Overrides = []Override{{Endpoint: "e3", Drain: true, Weight: Absent}} },
		"an unusable":   func(c *Catalog) { c.Workloads[1].Unusable = "why" },
		"a requirement": func(c *Catalog) { c.Workloads[2].Contract.Requires = []string{"tools"} },
	} {
		c := bandedSmall()
		change(c)
		prev := made(t, nil, bandedSmall(), f)
		got, want := made(t, prev, c, f), made(t, nil, c, f)
		got.static.lineage, want.static.lineage = lineage{}, lineage{}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: made from an older snapshot it is another one", name)
		}
	}
}

// bandedSmall has one workload of two bands.
func bandedSmall() *Catalog {
	c := small()
	w := &c.Workloads[2]
	w.Strategy, w.Bands = CostTiered, []Band{{"cheap", 500, []string{"n"}}, {"dear", Absent, []string{"m"}}}
	w.Affinity = Affinity{On: AffinitySession, Rule: AffinityScore, Slack: 1.25}
	return c
}

// What is shared must not keep the catalog alive that it came with.
func TestASnapshotPinsNoOlderCatalog(t *testing.T) {
	c := small()
	s := made(t, nil, c, nil)
	if s.static.facts[0].endpoint == &c.Endpoints[0] || s.static.workloads["w0"].spec == &c.Workloads[0] {
		t.Error("compiled facts point into the catalog")
	}
}

func TestEveryFieldCountsAsAChange(t *testing.T) {
	e, w, tenant := Endpoint{}, Workload{Tiers: []Tier{{}}, Bands: []Band{{}}}, Tenant{}
	each(reflect.ValueOf(&tenant).Elem(), "tenant", func(field string, change func()) {
		was := tenant
		if change(); tenant.same(was) {
			t.Errorf("%s does not count", field)
		}
	})
	e.Price.Above = []money.Above{{}}
	each(reflect.ValueOf(&e).Elem(), "endpoint", func(field string, change func()) {
		was := e
		was.Price.Above = slices.Clone(e.Price.Above)
		if change(); e.same(&was) {
			t.Errorf("%s does not count", field)
		}
	})
	each(reflect.ValueOf(&w).Elem(), "workload", func(field string, change func()) {
		was := w
		was.Tiers, was.Bands = slices.Clone(w.Tiers), slices.Clone(w.Bands)
		if change(); w.same(&was) {
			t.Errorf("%s does not count", field)
		}
	})
}

// each offers a change of every field under v.
func each(v reflect.Value, name string, offer func(field string, change func())) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			each(v.Field(i), name+"."+v.Type().Field(i).Name, offer)
		}
	case reflect.Slice:
		if v.Len() > 0 {
			each(v.Index(0), name+"[0]", offer)
		}
		offer(name, func() { v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem()))) })
	case reflect.String:
		offer(name, func() { v.SetString("changed") })
	case reflect.Bool:
		offer(name, func() { v.SetBool(true) })
	case reflect.Float64:
		offer(name, func() { v.SetFloat(7) })
	case reflect.Uint8, reflect.Uint64:
		offer(name, func() { v.SetUint(7) })
	default:
		offer(name, func() { v.SetInt(7) })
	}
}
