package catalog

import (
	"math/big"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// maxValue bounds what a local or variable may hold: bytes of text, digits of numbers and 16 for every
// part. It keeps locals that double each other from filling the memory.
const maxValue = 1 << 20

// local is a named value, evaluated when it is first needed.
type local struct {
	path  string
	expr  hclsyntax.Expression
	value cty.Value
	busy  bool
	done  bool
}

func (c *compiler) declareLocals(body *hclsyntax.Body) {
	for _, b := range body.Blocks {
		c.failAt(b.TypeRange, "locals", "a local is name = value", "a block inside locals")
	}
	for _, a := range inOrder(body.Attributes) {
		path := "local." + a.Name
		if c.locals[a.Name] != nil {
			c.twice(path, a.NameRange, "local "+quote(a.Name)+" is declared twice")
			continue
		}
		c.places[path] = a.Expr.Range()
		c.locals[a.Name] = &local{path: path, expr: a.Expr}
	}
}

func inOrder(attributes hclsyntax.Attributes) []*hclsyntax.Attribute {
	var list []*hclsyntax.Attribute
	for _, a := range attributes {
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b *hclsyntax.Attribute) int { return a.NameRange.Start.Byte - b.NameRange.Start.Byte })
	return list
}

// withLocals is the scope for an expression that needs some locals before all are known.
func (c *compiler) withLocals(expr hclsyntax.Expression) *hcl.EvalContext {
	needed := map[string]cty.Value{}
	for _, t := range expr.Variables() {
		if t.RootName() != "local" || len(t) < 2 {
			continue
		}
		if step, ok := t[1].(hcl.TraverseAttr); ok && c.locals[step.Name] != nil {
			needed[step.Name] = c.local(c.locals[step.Name])
		}
	}
	scope := c.scope.NewChild()
	scope.Variables = map[string]cty.Value{"local": cty.ObjectVal(needed)}
	return scope
}

// local evaluates a local and, first, those it needs. What fails is unknown from then on, silently.
func (c *compiler) local(l *local) cty.Value {
	switch {
	case l.done:
		return l.value
	case l.busy:
		c.fail(l.path, "take one of them out of the circle", "the local depends on itself")
		return cty.DynamicVal
	}
	l.busy = true
	v, ok := c.eval(l.expr, c.withLocals(l.expr), l.path)
	if ok && size(v, maxValue) > maxValue {
		c.fail(l.path, "a local holds up to 1 MiB", "the local is too large")
		ok = false
	}
	if !ok {
		v = cty.DynamicVal
	}
	l.busy, l.done, l.value = false, true, v
	return v
}

func (c *compiler) allLocals() cty.Value {
	all := make(map[string]cty.Value, len(c.locals))
	for _, name := range keys(c.locals) {
		all[name] = c.local(c.locals[name])
	}
	return cty.ObjectVal(all)
}

// size estimates what a value takes; it stops counting above limit.
func size(v cty.Value, limit int) int {
	n := 16
	switch {
	case !v.IsKnown() || v.IsNull():
	case v.Type() == cty.String:
		n += len(v.AsString())
	case v.Type() == cty.Number:
		n += digits(v.AsBigFloat())
	case v.CanIterateElements():
		for it := v.ElementIterator(); it.Next() && n <= limit; {
			_, element := it.Element()
			n += size(element, limit-n)
		}
	}
	return n
}

// digits is how long a number is when it is written out, roughly.
func digits(n *big.Float) int {
	exponent := n.MantExp(nil)
	return max(exponent, -exponent) / 3
}

// eval evaluates an expression, reporting why it cannot. A value that rests on something already
// reported is not ok, silently; null is ok and means absent.
func (c *compiler) eval(expr hclsyntax.Expression, scope *hcl.EvalContext, path string) (cty.Value, bool) {
	if c.meter.spent() { // which is said
		c.spoil(path)
		return cty.NilVal, false
	}
	v, diags := expr.Value(scope)
	c.meter.pay(v)
	switch {
	case c.meter.spent():
		c.failAt(expr.Range(), path, "loops inside loops multiply; look things up with map[key]", "with this the catalog takes too much to evaluate")
		return cty.NilVal, false
	case diags.HasErrors():
		c.explain(expr, scope, path, diags)
		return cty.NilVal, false
	case !v.IsWhollyKnown():
		c.spoil(path)
		return cty.NilVal, false
	}
	return v, true
}
