package catalog

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// reference is what model.gpt-41 evaluates to.
type reference struct {
	kind, name string
	wildcard   bool // endpoints("…") gave it: it is in a tier as far as it meets the contract
}

var referenceType = cty.Capsule("reference", reflect.TypeFor[reference]())

// references is the object whose attributes are the blocks of a kind.
func (c *compiler) references(kind string) cty.Value {
	all := make(map[string]cty.Value, len(c.known[kind]))
	for name := range c.known[kind] {
		all[name] = cty.CapsuleVal(referenceType, &reference{kind: kind, name: name})
	}
	return cty.ObjectVal(all)
}

// withEndpoints adds endpoints("pattern"), which gives every endpoint whose name matches.
func withEndpoints(known map[string]bool, incomplete bool) map[string]function.Function {
	all := make(map[string]function.Function, len(functions)+1)
	for name, f := range functions {
		all[name] = f
	}
	names := keys(known)
	matched := map[string]cty.Value{} // many workloads ask for the same
	all["endpoints"] = function.New(&function.Spec{
		Params: []function.Parameter{{Name: "pattern", Type: cty.String}},
		Type:   function.StaticReturnType(cty.List(referenceType)),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			pattern := args[0].AsString()
			if incomplete {
				return cty.UnknownVal(cty.List(referenceType)), nil
			}
			if v, ok := matched[pattern]; ok {
				return v, nil
			}
			v, err := matching(pattern, names)
			matched[pattern] = v
			return v, err
		},
	})
	return all
}

func matching(pattern string, names []string) (cty.Value, error) {
	var found []cty.Value
	for _, name := range names {
		ok, err := path.Match(pattern, name)
		if err != nil {
			return cty.NilVal, function.NewArgErrorf(0, "%s is not a pattern of *, ? and names", quote(pattern))
		}
		if ok {
			found = append(found, cty.CapsuleVal(referenceType, &reference{kind: "endpoint", name: name, wildcard: true}))
		}
	}
	if len(found) == 0 {
		return cty.NilVal, function.NewArgErrorf(0, "no endpoint's name matches %s", quote(pattern))
	}
	return cty.ListVal(found), nil
}

// explain says why an expression could not be evaluated: by the names in it that are not declared, else
// by what the HCL library says first.
func (c *compiler) explain(expr hclsyntax.Expression, scope *hcl.EvalContext, where string, diags hcl.Diagnostics) {
	c.spoil(where)
	explained := false
	for _, t := range expr.Variables() {
		explained = c.undeclared(t, scope, where) || explained
	}
	if explained {
		return
	}
	for _, d := range diags {
		if d.Severity == hcl.DiagError {
			c.diagnose(where, d)
			return
		}
	}
}

// undeclared reports a traversal that leads to nothing. It is silent where the cause has been reported.
func (c *compiler) undeclared(t hcl.Traversal, scope *hcl.EvalContext, where string) bool {
	kind, name := t.RootName(), ""
	if len(t) > 1 {
		if step, ok := t[1].(hcl.TraverseAttr); ok {
			name = step.Name
		}
	}
	object, inScope := lookup(scope, kind)
	summary, hint := "", ""
	switch {
	case scope == nil:
		summary, hint = "nothing can be referred to here", "a literal: text, a number, a list, a map"
	case inScope && (name == "" || object.Type().HasAttribute(name)):
		return false
	case kind == "endpoint" && c.mayExpand(name):
		return true
	case kind == "endpoint" && !inScope:
		summary, hint = "for_each depends on endpoints", "endpoints are named after for_each; it may use variables, locals and other blocks"
	case kind == "each":
		summary, hint = "nothing is called "+quote(strings.Trim(kind+"."+name, "."))+" here", "an endpoint with for_each has each.key and each.value"
	case kind == "local":
		summary, hint = "local "+quote(name)+" is not declared", meant(name, keys(c.locals))
	case kind == "var":
		summary, hint = "variable "+quote(name)+" is not declared", meant(name, keys(c.known["variable"]))
	case inScope:
		summary, hint = kind+" "+quote(name)+" is not declared", meant(name, keys(c.known[kind]))
	default:
		summary, hint = "nothing is called "+quote(kind), "text is written in quotes; names are "+c.names
	}
	c.failAt(t.SourceRange(), where, hint, summary)
	return true
}

func lookup(scope *hcl.EvalContext, name string) (cty.Value, bool) {
	for ; scope != nil; scope = scope.Parent() {
		if v, ok := scope.Variables[name]; ok {
			return v, v.Type().IsObjectType()
		}
	}
	return cty.NilVal, false
}

// mayExpand tells whether a for_each that failed could have made this endpoint.
func (c *compiler) mayExpand(name string) bool {
	return slices.ContainsFunc(c.unknown, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

func asReference(v cty.Value) (*reference, bool) {
	if v.Type() != referenceType || v.IsNull() || !v.IsKnown() {
		return nil, false
	}
	return v.EncapsulatedValue().(*reference), true
}

// describeValue names a value's type, or what it refers to, for a finding.
func describeValue(v cty.Value) string {
	if r, ok := asReference(v); ok {
		return fmt.Sprintf("%s.%s", r.kind, r.name)
	}
	if v.IsNull() {
		return "null"
	}
	switch t := v.Type(); {
	case t.IsTupleType(), t.IsListType(), t.IsSetType():
		return "a list"
	case t.IsObjectType(), t.IsMapType():
		return "a map"
	case t == cty.String:
		return "text"
	case t == cty.Number:
		return "a number"
	case t == cty.Bool:
		return "true or false"
	}
	return "nothing of use here"
}
