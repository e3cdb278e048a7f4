package scenario

import (
	"path"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/controlplane/catalog"

	"github.com/pointsman/pointsman/clientlib/route"
)

// matching gives the endpoints whose names match a pattern of *, ? and names; false: it is none.
func (r *reader) matching(pattern string) ([]string, bool) {
	var list []string
	for _, name := range r.endpointNames() {
		ok, err := path.Match(pattern, name)
		if err != nil {
			return nil, false
		}
		if ok {
			list = append(list, name)
		}
	}
	return list, true
}

const patternHint = "a pattern is of names, *, ? and [a-c]"

// nothing is the hint where a pattern matches nothing.
func (r *reader) nothing(pattern string) string {
	if !strings.ContainsAny(pattern, "*?[") {
		return catalog.Meant(pattern, r.endpointNames())
	}
	all := r.endpointNames()
	if len(all) > 5 {
		all = append(slices.Clip(all[:5]), "…")
	}
	return "the catalog has " + strings.Join(all, ", ")
}

// chosen are the endpoints that a block means: of its patterns, region, provider and quota, all
// that are given must fit. said: something was given.
func (r *reader) chosen(b *catalog.Block) (list []string, said bool) {
	list = r.endpointNames()
	keep := func(fits func(*route.Endpoint) bool) {
		list = slices.DeleteFunc(list, func(e string) bool { return !fits(r.endpoint(e)) })
	}
	if patterns := b.Listed("endpoints"); b.Has("endpoints") { // an empty list is nobody
		wanted := r.listed(b, patterns)
		keep(func(e *route.Endpoint) bool { return wanted[e.Name] })
	}
	var region, provider, quota string
	if b.Choice("provider", r.providers(), &provider) {
		keep(func(e *route.Endpoint) bool { return e.Provider == provider })
	}
	if b.Choice("quota", names(r.catalog.Quotas, func(q *route.Quota) string { return q.Name }), &quota) {
		keep(func(e *route.Endpoint) bool { return slices.Contains(e.Quotas, quota) })
	}
	if b.Text("region", &region) {
		keep(func(e *route.Endpoint) bool { return within(e.Region, region) })
	}
	said = b.Has("endpoints") || b.Has("provider") || b.Has("quota") || b.Has("region")
	return list, said
}

// listed are the names that patterns match; each that matches none is reported.
func (r *reader) listed(b *catalog.Block, patterns []catalog.Placed) map[string]bool {
	wanted := map[string]bool{}
	for _, p := range patterns {
		list, ok := r.matching(p.Text)
		switch {
		case !ok:
			b.FailAt(p, patternHint, "%s is no pattern", catalog.Quote(p.Text))
		case len(list) == 0:
			b.FailAt(p, r.nothing(p.Text), "no endpoint's name matches %s", catalog.Quote(p.Text))
		}
		for _, name := range list {
			wanted[name] = true
		}
	}
	return wanted
}

// within tells whether a region is another or inside of it: eu covers eu/west.
func within(region, outer string) bool {
	return region == outer || strings.HasPrefix(region, outer+"/")
}

func (r *reader) providers() []string {
	list := names(r.catalog.Endpoints, func(e *route.Endpoint) string { return e.Provider })
	slices.Sort(list)
	return slices.Compact(list)
}
