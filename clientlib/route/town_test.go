package route

import "testing"

func TestWorkloadsWithEqualHomesShareATable(t *testing.T) {
	c := &Catalog{}
	for _, name := range []string{"a", "b", "c"} {
		c.Endpoints = append(c.Endpoints, Endpoint{Name: name, Weight: 100, Concurrency: Absent, APIs: []string{"chat"}})
	}
	tier := func(names ...string) []Tier { return []Tier{{Name: "t", Endpoints: names}} }
	w := Workload{APIs: []string{"chat"}, Strategy: Hash, Attempts: Attempts{Max: 1, Total: second}}
	for name, tiers := range map[string][]Tier{"one": tier("a", "b"), "two": tier("b", "a"), "three": tier("a", "c")} {
		w.Name, w.Tiers = name, tiers
		c.Workloads = append(c.Workloads, w)
	}
	first := compiled(t, nil, c)
	heavy := *c
	heavy.Endpoints = append([]Endpoint{}, c.Endpoints...)
	heavy.Endpoints[0].Weight = 300
	for name, s := range map[string]*Snapshot{"new": first, "of other weights": compiled(t, first, &heavy)} {
		of := func(workload string) *Maglev { return s.static.workloads[workload].tables[0] }
		if of("one") != of("two") || of("one") == of("three") {
			t.Errorf("%s: tables %p, %p and %p", name, of("one"), of("two"), of("three"))
		}
	}
}

func compiled(t *testing.T, prev *Snapshot, c *Catalog) *Snapshot {
	t.Helper()
	s, err := Compile(prev, c, nil, Local{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
