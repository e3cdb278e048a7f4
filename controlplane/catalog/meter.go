package catalog

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// What evaluating one catalog may cost: loops within loops multiply, and a control plane evaluates what
// it is sent. It is a second or two of work; to put 10,000 endpoints into 200 workloads takes half of it.
const (
	maxWork  = 64 << 20
	stepWork = 64 // of each value, besides its size
)

// meter counts down what is left to spend.
type meter struct{ left int }

func (m *meter) spent() bool { return m.left < 0 }

// pay charges a value by its size.
func (m *meter) pay(v cty.Value) { m.left -= stepWork + size(v, max(0, m.left)) }

// payText charges a number for being written out.
func (m *meter) payText(v cty.Value) {
	if v.Type() == cty.Number && v.IsKnown() && !v.IsNull() {
		n := digits(v.AsBigFloat())
		m.left -= 8*n + n*n/8192 // as measured
	}
}

// payType charges for the one type that is made of those of all elements: the library compares
// each with each.
func (m *meter) payType(t cty.Type) {
	n, each := 0, 1 // as measured
	add := func(element cty.Type) {
		n++
		if !element.IsPrimitiveType() {
			each = 12
		}
	}
	switch {
	case t.IsTupleType():
		for _, element := range t.TupleElementTypes() {
			add(element)
		}
	case t.IsObjectType():
		for _, element := range t.AttributeTypes() {
			add(element)
		}
	}
	m.left -= each * n * n
}

// use is what is done with a value, besides looking at it.
type use uint8

const (
	asText use = iota // it may be written into a text
	asIs
	converted // that, or its elements get one type
)

// metered is an expression of which each evaluation is paid for. It stands in the place of one inside
// another, and looks like parentheses around it, so that walks see what is inside.
type metered struct {
	*hclsyntax.ParenthesesExpr
	meter *meter
	use   use
}

// UnwrapExpression is for those who look for a keyword or a call.
func (e *metered) UnwrapExpression() hcl.Expression { return e.Expression }

func (e *metered) Value(scope *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if e.meter.spent() {
		return e.refuse()
	}
	v, diags := e.ParenthesesExpr.Value(scope)
	e.meter.pay(v)
	switch e.use {
	case asText:
		e.meter.payText(v)
	case converted:
		e.meter.payText(v)
		e.meter.payType(v.Type())
	}
	if e.meter.spent() { // before a function takes it
		return e.refuse()
	}
	return v, diags
}

func (e *metered) refuse() (cty.Value, hcl.Diagnostics) {
	at := e.Range()
	return cty.DynamicVal, hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "too much to evaluate", Subject: &at}}
}

// install meters everything inside the expressions below a node. Who evaluates one of those pays for it.
func (m *meter) install(node hclsyntax.Node) {
	_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics { // it finds nothing
		m.wrapParts(n)
		return nil
	})
}

func (m *meter) wrapParts(n hclsyntax.Node) {
	switch e := n.(type) {
	case *hclsyntax.TemplateExpr:
		m.wrapAll(e.Parts)
	case *hclsyntax.TemplateWrapExpr:
		m.wrap(&e.Wrapped, asText)
	case *hclsyntax.TemplateJoinExpr:
		m.wrap(&e.Tuple, asText)
	case *hclsyntax.FunctionCallExpr:
		for i := range e.Args {
			m.wrap(&e.Args[i], useOf(e, i))
		}
	case *hclsyntax.ConditionalExpr:
		m.wrap(&e.Condition, asIs)
		m.wrap(&e.TrueResult, converted)
		m.wrap(&e.FalseResult, converted)
	case *hclsyntax.IndexExpr:
		if _, named := e.Collection.(*hclsyntax.ScopeTraversalExpr); !named { // looking into a large one costs no more
			m.wrap(&e.Collection, asIs)
		}
		m.wrap(&e.Key, asText)
	case *hclsyntax.TupleConsExpr:
		m.wrapAll(e.Exprs)
	case *hclsyntax.ObjectConsExpr:
		for i := range e.Items {
			m.wrap(&e.Items[i].ValueExpr, asText)
		}
	case *hclsyntax.ForExpr:
		m.wrap(&e.CollExpr, asIs)
		m.wrap(&e.KeyExpr, asText)
		m.wrap(&e.ValExpr, asText)
		m.wrap(&e.CondExpr, asIs)
	case *hclsyntax.SplatExpr:
		m.wrap(&e.Source, asIs)
		m.wrap(&e.Each, asText)
	case *hclsyntax.RelativeTraversalExpr:
		m.wrap(&e.Source, asIs)
	case *hclsyntax.BinaryOpExpr:
		m.wrap(&e.LHS, asIs)
		m.wrap(&e.RHS, asIs)
	case *hclsyntax.UnaryOpExpr:
		m.wrap(&e.Val, asIs)
	}
}

// useOf is what a call does with an argument.
func useOf(call *hclsyntax.FunctionCallExpr, i int) use {
	f, known := functions[call.Name]
	switch {
	case call.ExpandFinal && i == len(call.Args)-1:
		return converted
	case known && i < len(f.Params()) && f.Params()[i].Type.IsCollectionType():
		return converted
	case known && i >= len(f.Params()) && f.VarParam() != nil && f.VarParam().Type.IsCollectionType():
		return converted
	}
	return asText
}

func (m *meter) wrapAll(list []hclsyntax.Expression) {
	for i := range list {
		m.wrap(&list[i], asText)
	}
}

func (m *meter) wrap(e *hclsyntax.Expression, u use) {
	if *e != nil {
		*e = &metered{&hclsyntax.ParenthesesExpr{Expression: *e, SrcRange: (*e).Range()}, m, u}
	}
}
