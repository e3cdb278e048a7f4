package catalog

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// expand replaces each endpoint block that has for_each by one declaration an element, named
// block-key.
func (c *compiler) expand() {
	blocks, known := c.blocks["endpoint"], map[string]bool{}
	c.blocks["endpoint"], c.known["endpoint"] = nil, known
	for _, d := range blocks {
		a, ok := d.block.Body.Attributes["for_each"]
		if !ok {
			c.addEndpoint(d)
			continue
		}
		path := d.path + ".for_each"
		c.places[path] = a.Expr.Range()
		v, ok := c.eval(a.Expr, c.withLocals(a.Expr), path)
		if !ok {
			c.unknown = append(c.unknown, d.name+"-")
			continue
		}
		c.expandBlock(d, v, path)
	}
}

func (c *compiler) expandBlock(d *declaration, v cty.Value, path string) {
	if v.IsNull() || !v.CanIterateElements() {
		c.unknown = append(c.unknown, d.name+"-")
		c.fail(path, `a list of names, or a map: ["a", "b"]`, "for_each must be a list or a map, not %s", describeValue(v))
		return
	}
	keyed := v.Type().IsMapType() || v.Type().IsObjectType()
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		if !keyed {
			key = value
		}
		if key.IsNull() || key.Type() != cty.String || !nameShape.MatchString(d.name+"-"+key.AsString()) {
			c.fail(path, nameRule+"; for_each's keys are added to it after a dash", "for_each has %s, which cannot be a part of a name", shownKey(key))
			continue
		}
		if known := "endpoint." + d.name + "-" + key.AsString(); c.places[known] == d.block.DefRange() {
			c.fail(path, "take one out", "for_each has %s twice", quote(key.AsString()))
			continue
		}
		c.addEndpoint(c.instanceOf(d, key, value))
	}
}

func shownKey(key cty.Value) string {
	if key.Type() != cty.String || key.IsNull() {
		return describeValue(key)
	}
	return quote(key.AsString())
}

func (c *compiler) instanceOf(d *declaration, key, value cty.Value) *declaration {
	scope := c.scope.NewChild()
	scope.Variables = map[string]cty.Value{"each": cty.ObjectVal(map[string]cty.Value{"key": key, "value": value})}
	name := d.name + "-" + key.AsString()
	return &declaration{name: name, path: "endpoint." + name, block: d.block, scope: scope}
}

// addEndpoint declares an endpoint under its final name.
func (c *compiler) addEndpoint(d *declaration) {
	if len(c.blocks["endpoint"]) == maxEndpoints {
		c.fail("endpoint", "divide the catalog into namespaces", "more than %d endpoints", maxEndpoints)
		return
	}
	if c.known["endpoint"][d.name] {
		c.twice(d.path, d.block.LabelRanges[0], "endpoint "+quote(d.name)+" is declared twice")
		return
	}
	c.known["endpoint"][d.name] = true
	c.places[d.path] = d.block.DefRange()
	c.blocks["endpoint"] = append(c.blocks["endpoint"], d)
}

// scopeOf is what a declaration's expressions are evaluated in.
func (c *compiler) scopeOf(d *declaration) *hcl.EvalContext {
	if d.scope != nil {
		return d.scope
	}
	return c.scope
}
