package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const variablePrefix = "POINTSMAN_VAR_"

// Variables gives the values of src's variables: from the environment (POINTSMAN_VAR_name; undeclared
// ones are left out), over that from files (name = value, in HCL; later ones win), over that
// from flags ("name=value"; later ones win). Errors repeat no value.
func Variables(src *pb.Sources, flags []string, files []*pb.SourceFile, environ []string) ([]*pb.Variable, error) {
	values := map[string]string{}
	declared := declaredVariables(src)
	for _, e := range environ {
		name, value, ok := strings.Cut(strings.TrimPrefix(e, variablePrefix), "=")
		if ok && strings.HasPrefix(e, variablePrefix) && slices.Contains(declared, name) {
			values[name] = value
		}
	}
	for _, f := range files {
		if err := variableFile(f, values); err != nil {
			return nil, err
		}
	}
	for _, f := range flags {
		name, value, ok := strings.Cut(f, "=")
		if !ok {
			return nil, fmt.Errorf("variable %s: write name=value", quote(f))
		}
		values[strings.TrimSpace(name)] = value
	}
	var list []*pb.Variable
	for _, name := range keys(values) {
		list = append(list, &pb.Variable{Name: name, Value: values[name]})
	}
	return list, nil
}

func declaredVariables(src *pb.Sources) []string {
	c := newCompiler()
	bodies, _ := c.parse(src.GetFiles())
	c.declare(bodies)
	return keys(c.known["variable"])
}

func variableFile(f *pb.SourceFile, values map[string]string) error {
	c := newCompiler()
	bodies, _ := c.parse([]*pb.SourceFile{f})
	for _, body := range bodies {
		for _, b := range body.Blocks {
			c.failAt(b.TypeRange, "", "", "a file of variables holds name = value only")
		}
		for _, a := range inOrder(body.Attributes) {
			c.places[a.Name] = a.Expr.Range()
			if v, ok := c.eval(a.Expr, nil, a.Name); ok {
				values[a.Name] = render(v)
			}
		}
	}
	if list := c.sorted(); len(list) > 0 {
		return fmt.Errorf("%s:%d:%d: %s", f.GetName(), list[0].Line, list[0].Column, list[0].Summary)
	}
	return nil
}

// render writes a value so that variableValue reads it again.
func render(v cty.Value) string {
	if v.Type() == cty.String && !v.IsNull() {
		return v.AsString()
	}
	return string(hclwrite.TokensForValue(v).Bytes())
}

// variables is the object var: each declared variable's given value, else its default.
func (c *compiler) variables(values []*pb.Variable) cty.Value {
	given := map[string]string{}
	for _, v := range values {
		path := "var." + v.GetName()
		if !c.known["variable"][v.GetName()] {
			c.fail(path, meant(v.GetName(), keys(c.known["variable"])), "variable %s is given, but not declared", quote(v.GetName()))
		}
		if kind := secretKind(v.GetValue()); kind != "" {
			c.fail(path, "variables are stored with the catalog: give the name of a credential, never a secret", "the value of variable %s looks like %s", quote(v.GetName()), kind)
		}
		given[v.GetName()] = v.GetValue()
	}
	object := map[string]cty.Value{}
	for _, d := range c.blocks["variable"] {
		raw, ok := given[d.name]
		object[d.name] = c.variable(d, raw, ok)
	}
	return cty.ObjectVal(object)
}

func (c *compiler) variable(d *declaration, raw string, given bool) cty.Value {
	b := c.open(d)
	b.scope = nil // a default is a literal
	b.ask("type")
	kind, v, ok := c.variableType(b), cty.NullVal(cty.DynamicPseudoType), true
	b.text("description", new(string))
	if b.ask("default") {
		v, ok = c.eval(b.body.Attributes["default"].Expr, nil, b.path+".default")
	}
	b.close()
	switch {
	case given:
		return c.givenVariable(d, raw, typeOf(kind, v, ok))
	case !b.has("default"):
		c.fail(d.path, fmt.Sprintf("give it a default, -var %s=…, or %s%s", d.name, variablePrefix, d.name), "variable %s has no value", quote(d.name))
	case ok:
		converted, err := c.convert(v, kind)
		if err == nil {
			return converted
		}
		c.fail(b.path+".default", "", "the default is %s: %v", describeValue(v), err)
	}
	return cty.DynamicVal
}

func (c *compiler) variableType(b *block) cty.Type {
	if !b.has("type") {
		return cty.DynamicPseudoType
	}
	kind, diags := typeexpr.TypeConstraint(b.body.Attributes["type"].Expr)
	if diags.HasErrors() {
		c.diagnose(b.path+".type", diags[0])
		return cty.DynamicPseudoType
	}
	return kind
}

// typeOf is the declared type, else that of a simple default.
func typeOf(kind cty.Type, v cty.Value, ok bool) cty.Type {
	if kind == cty.DynamicPseudoType && ok && !v.IsNull() && v.Type().IsPrimitiveType() {
		return v.Type()
	}
	return kind
}

func (c *compiler) givenVariable(d *declaration, raw string, kind cty.Type) cty.Value {
	v, err := c.variableValue(raw, kind)
	if err != nil {
		c.fail(d.path, "", "the value given for variable %s is not right: %v", quote(d.name), err)
		return cty.DynamicVal
	}
	return v
}

// variableValue reads a given value: text as it is, numbers and truth values by conversion, and lists and
// maps as HCL. Without a declared type, what begins with a bracket is HCL.
func (c *compiler) variableValue(raw string, kind cty.Type) (cty.Value, error) {
	v := cty.StringVal(raw)
	if !kind.IsPrimitiveType() && (kind != cty.DynamicPseudoType || strings.HasPrefix(raw, "[") || strings.HasPrefix(raw, "{")) {
		expr, err := parseLiteral(raw)
		if err != nil {
			return cty.NilVal, err
		}
		c.meter.install(expr)
		var diags hcl.Diagnostics
		if v, diags = expr.Value(nil); diags.HasErrors() {
			return cty.NilVal, fmt.Errorf("%s", lowerFirst(diags[0].Summary))
		}
	}
	return c.convert(v, kind)
}

// convert makes a variable's value one of its type.
func (c *compiler) convert(v cty.Value, kind cty.Type) (cty.Value, error) {
	if size(v, maxValue) > maxValue {
		return cty.NilVal, fmt.Errorf("it holds more than %d MiB", maxValue>>20)
	}
	if kind != cty.DynamicPseudoType {
		c.meter.payType(v.Type())
	}
	if c.meter.spent() {
		return cty.NilVal, fmt.Errorf("the catalog takes too much to evaluate")
	}
	converted, err := convert.Convert(v, kind)
	switch {
	case err != nil && kind.IsPrimitiveType():
		return cty.NilVal, fmt.Errorf("it must be %s", kind.FriendlyName())
	case err != nil: // it says which part is wrong
		return cty.NilVal, fmt.Errorf("it must be %s%s: %s", kind.FriendlyName(), part(err), redact(err.Error()))
	}
	return converted, nil
}

// part is where in a value an error is: ", in .limits.tpm".
func part(err error) string {
	at, ok := errors.AsType[cty.PathError](err)
	if !ok || len(at.Path) == 0 {
		return ""
	}
	var text strings.Builder
	for _, step := range at.Path {
		if s, ok := step.(cty.GetAttrStep); ok {
			text.WriteString("." + s.Name)
		} else {
			text.WriteString("[…]")
		}
	}
	return ", in " + text.String()
}
