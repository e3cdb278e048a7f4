package catalog

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// elements gives the parts of a list, and marks where each was written.
func (b *block) elements(name string) ([]cty.Value, bool) {
	v, ok := b.value(name)
	if !ok {
		return nil, false
	}
	if t := v.Type(); !t.IsTupleType() && !t.IsListType() && !t.IsSetType() {
		b.wrong(name, "a list is written in brackets: […]", "must be a list, not %s", describeValue(v))
		return nil, false
	}
	return v.AsValueSlice(), true
}

// texts reads a set of texts, sorted.
func (b *block) texts(name string, dst *[]string) bool {
	elements, ok := b.elements(name)
	if !ok {
		return false
	}
	var list []string
	for _, e := range elements {
		if e.IsNull() {
			continue
		}
		s, ok := b.asText(name, e)
		if !ok {
			return false
		}
		if s == "" {
			b.wrong(name, "leave it out instead", "has an empty element")
			return false
		}
		list = append(list, s)
	}
	slices.Sort(list)
	*dst = slices.Compact(list)
	return true
}

// words reads a set of some words, sorted.
func (b *block) words(name string, words []string, dst *[]string) bool {
	var list []string
	if !b.texts(name, &list) {
		return false
	}
	for _, s := range list {
		if !slices.Contains(words, s) {
			b.wrong(name, meant(s, words), "has %s", quote(s))
			return false
		}
	}
	*dst = list
	return true
}

// ref reads a reference to a block of a kind.
func (b *block) ref(name, kind string, dst *string) {
	v, ok := b.value(name)
	if !ok {
		return
	}
	r, ok := asReference(v)
	if !ok || r.kind != kind {
		b.wrong(name, fmt.Sprintf("write %s.%s", kind, likely(v)), "is %s", describeValue(v))
		return
	}
	*dst = r.name
}

// likely is the name that a text was meant to refer to.
func likely(v cty.Value) string {
	if v.Type() == cty.String && v.IsKnown() && !v.IsNull() && nameShape.MatchString(v.AsString()) && secretKind(v.AsString()) == "" {
		return v.AsString()
	}
	return "name"
}

// refs reads references to blocks of a kind, in their order, each once.
func (b *block) refs(name, kind string) ([]*reference, bool) {
	elements, ok := b.elements(name)
	if !ok {
		return nil, false
	}
	exprs := parts(b.body.Attributes[name].Expr, len(elements))
	var list []*reference
	at := map[string]int{} // where in the list a name is
	for i, e := range elements {
		r, isRef := asReference(e)
		if !isRef || r.kind != kind {
			b.c.failAt(exprs[i].Range(), b.path+"."+name, fmt.Sprintf("write %s.%s", kind, likely(e)), fmt.Sprintf("%s holds %s", name, describeValue(e)))
			ok = false
			continue
		}
		before, twice := at[r.name]
		if twice && !r.wildcard && !list[before].wildcard {
			b.c.warnAt(exprs[i].Range(), b.path+"."+name, "take one out", fmt.Sprintf("%s.%s is in the list twice, which has no effect", kind, r.name))
		}
		if twice && (r.wildcard || !list[before].wildcard) {
			continue
		}
		b.c.places[b.path+"."+name+"."+r.name] = exprs[i].Range()
		if twice { // by name counts more than by pattern
			list[before] = r
			continue
		}
		at[r.name] = len(list)
		list = append(list, r)
	}
	return list, ok
}

// parts are the expressions of a list's elements, or the whole expression for each.
func parts(expr hclsyntax.Expression, n int) []hclsyntax.Expression {
	if list, ok := expr.(*hclsyntax.TupleConsExpr); ok && len(list.Exprs) == n {
		return list.Exprs
	}
	return slices.Repeat([]hclsyntax.Expression{expr}, n)
}

// names reads references to blocks of a kind as their names, sorted.
func (b *block) names(name, kind string, dst *[]string) {
	refs, ok := b.refs(name, kind)
	if !ok {
		return
	}
	list := make([]string, 0, len(refs))
	for _, r := range refs {
		list = append(list, r.name)
	}
	slices.Sort(list)
	*dst = list
}
