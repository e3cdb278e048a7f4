package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// block is one block while it is read. Whatever its reader has not asked for when it is closed is
// unknown, so that what is read and what is allowed are one thing.
type block struct {
	c     *compiler
	kind  string // its type: "model"
	name  string // its label, if it has one
	path  string
	body  *hclsyntax.Body
	scope *hcl.EvalContext

	attributes, blocks []string // asked for
}

func (c *compiler) open(d *declaration) *block {
	return &block{c: c, kind: d.block.Type, name: d.name, path: d.path, body: d.block.Body, scope: c.scopeOf(d)}
}

// ask says that the block may have an attribute, and tells whether it has.
func (b *block) ask(name string) bool {
	b.attributes = append(b.attributes, name)
	a, ok := b.body.Attributes[name]
	if ok {
		b.c.places[b.path+"."+name] = a.Expr.Range()
	}
	return ok
}

func (b *block) has(name string) bool {
	_, ok := b.body.Attributes[name]
	return ok
}

// value evaluates an attribute. What is absent, null or wrong is not ok; what is wrong has a finding.
func (b *block) value(name string) (cty.Value, bool) {
	if !b.ask(name) {
		return cty.NilVal, false
	}
	v, ok := b.c.eval(b.body.Attributes[name].Expr, b.scope, b.path+"."+name)
	return v, ok && !v.IsNull()
}

// need reports what is missing.
func (b *block) need(names ...string) {
	for _, name := range names {
		if !b.has(name) {
			b.c.fail(b.path, "add "+name, "%s without %s", b.kind, name)
		}
	}
}

// wrong reports an attribute's value.
func (b *block) wrong(name, hint, summary string, args ...any) {
	b.c.fail(b.path+"."+name, hint, name+" "+summary, args...)
}

// all gives the blocks of a type inside this one, each with its label, if it takes one.
func (b *block) all(kind string, labels int) []*block {
	b.blocks = append(b.blocks, kind)
	var list []*block
	for _, in := range b.body.Blocks {
		if in.Type != kind {
			continue
		}
		path := b.path + "." + kind
		if len(in.Labels) != labels {
			b.c.failAt(in.DefRange(), path, fmt.Sprintf("it takes %d", labels), fmt.Sprintf("%s with %d labels", kind, len(in.Labels)))
			continue
		}
		path = strings.Join(append([]string{path}, in.Labels...), ".")
		if slices.ContainsFunc(list, func(o *block) bool { return o.path == path }) && labels > 0 {
			b.c.twice(path, in.LabelRanges[0], fmt.Sprintf("%s %s is there twice", kind, quote(in.Labels[0])))
			continue
		}
		b.c.mark(path, in.DefRange())
		list = append(list, &block{c: b.c, kind: kind, name: strings.Join(in.Labels, ""), path: path, body: in.Body, scope: b.scope})
	}
	return list
}

// one gives the block of a type inside this one; nil: there is none.
func (b *block) one(kind string) *block {
	list := b.all(kind, 0)
	if len(list) == 0 {
		return nil
	}
	if len(list) > 1 {
		b.c.twice(list[0].path, list[1].body.SrcRange, fmt.Sprintf("%s is there twice", kind))
	}
	return list[0]
}

// close reports what nobody has asked for.
func (b *block) close() {
	for name, a := range b.body.Attributes {
		if !slices.Contains(b.attributes, name) {
			hint := b.instead(name, b.blocks, "write it as a block: "+name+" { … }")
			b.c.failAt(a.NameRange, b.path+"."+name, hint, fmt.Sprintf("unknown attribute %s in %s", quote(name), b.kind))
		}
	}
	for _, in := range b.body.Blocks {
		if !slices.Contains(b.blocks, in.Type) {
			hint := b.instead(in.Type, b.attributes, "write it as an attribute: "+in.Type+" = …")
			b.c.failAt(in.TypeRange, b.path+"."+in.Type, hint, fmt.Sprintf("unknown block %s in %s", quote(in.Type), b.kind))
		}
	}
}

func (b *block) instead(name string, otherwise []string, hint string) string {
	if slices.Contains(otherwise, name) {
		return hint
	}
	return meant(name, slices.Concat(b.attributes, b.blocks))
}
