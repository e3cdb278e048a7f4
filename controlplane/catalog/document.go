package catalog

import (
	"fmt"
	"math"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Document is one HCL file of a language beside the catalog's: with the same variables, locals,
// functions, bounds and findings, and blocks of its own.
type Document struct {
	compiler  *compiler
	root      *Block // nil: it could not be read
	variables map[string]string
}

// ReadDocument evaluates a file of a kind; its reader asks the root for what it may hold, and
// closes it. It fails by findings only.
func ReadDocument(kind string, file *pb.SourceFile, values []*pb.Variable) *Document {
	c := newCompiler()
	c.names = "var.x, local.x"
	d := &Document{compiler: c, variables: map[string]string{}}
	files, err := bounded(&pb.Sources{Files: []*pb.SourceFile{file}, Variables: values})
	if err != nil {
		c.fail("", "", "%v", err)
		return d
	}
	bodies, whole := c.parse(files)
	if !whole {
		return d
	}
	c.known["variable"] = map[string]bool{}
	for _, in := range bodies[0].Blocks {
		if in.Type == "variable" || in.Type == "locals" {
			c.declareBlock(in)
		}
	}
	c.scope = &hcl.EvalContext{Variables: map[string]cty.Value{}, Functions: functions}
	variables := c.variables(values)
	c.scope.Variables["var"] = variables
	c.scope.Variables["local"] = c.allLocals()
	for name, v := range variables.AsValueMap() {
		if v.IsWhollyKnown() {
			d.variables[name] = render(v)
		}
	}
	c.places[kind] = hcl.Range{Filename: file.GetName(), Start: hcl.InitialPos, End: hcl.InitialPos}
	d.root = &Block{block{c: c, kind: kind, path: kind, body: bodies[0], scope: c.scope, blocks: []string{"variable", "locals"}}}
	return d
}

// Root holds the document's own blocks; nil: the document could not be read.
func (d *Document) Root() *Block { return d.root }

// Variables are the values of all variables.
func (d *Document) Variables() map[string]string { return d.variables }

// Findings are in order of source.
func (d *Document) Findings() []*pb.Finding { return d.compiler.sorted() }

// Failed tells whether a finding is an error.
func (d *Document) Failed() bool {
	r := Result{Findings: d.compiler.list}
	return r.Failed()
}

// Block is a block of a document while it is read. What a method asks for is what the block may
// have; what nobody has asked for when it is closed is unknown. What is absent, or wrong and
// said, leaves dst as it is.
type Block struct{ in block }

// Name is its label.
func (b *Block) Name() string { return b.in.name }

// Has tells whether an attribute is there.
func (b *Block) Has(name string) bool { return b.in.has(name) }

// Need reports attributes that are missing.
func (b *Block) Need(names ...string) { b.in.need(names...) }

// Close reports what nobody has asked for.
func (b *Block) Close() { b.in.close() }

// Fail reports what is wrong with the block.
func (b *Block) Fail(hint, summary string, args ...any) {
	b.in.c.fail(b.in.path, hint, summary, args...)
}

// Wrong reports what is wrong with an attribute; the summary follows its name.
func (b *Block) Wrong(name, hint, summary string, args ...any) {
	b.in.wrong(name, hint, summary, args...)
}

// Text reads text that is not empty.
func (b *Block) Text(name string, dst *string) bool { return b.in.text(name, dst) }

// Choice reads one of some words.
func (b *Block) Choice(name string, words []string, dst *string) bool {
	return b.in.choice(name, words, dst)
}

// Flag reads true or false.
func (b *Block) Flag(name string, dst *bool) bool { return b.in.flag(name, dst) }

// Whole reads a whole number from lo to hi.
func (b *Block) Whole(name string, lo, hi int64, dst *int64) bool {
	return b.in.whole(name, lo, hi, dst)
}

// Number reads a number from lo to hi.
func (b *Block) Number(name string, lo, hi float64, dst *float64) bool {
	return b.in.ratio(name, lo, hi, dst)
}

// Duration reads a time such as "1.5s" into microseconds.
func (b *Block) Duration(name string, lo, hi time.Duration, dst *int64) bool {
	return b.in.duration(name, lo, hi, dst)
}

// USD reads an exact amount into nano-dollars.
func (b *Block) USD(name string, dst *int64) bool { return b.in.usd(name, dst) }

// Texts reads a set of texts, sorted.
func (b *Block) Texts(name string, dst *[]string) bool { return b.in.texts(name, dst) }

// Placed is a text of a list, and where it stands.
type Placed struct {
	Text string
	at   hcl.Range
	path string
}

// Listed reads a list of texts, in its order.
func (b *Block) Listed(name string) []Placed {
	elements, ok := b.in.elements(name)
	if !ok {
		return nil
	}
	exprs := parts(b.in.body.Attributes[name].Expr, len(elements))
	var list []Placed
	for i, e := range elements {
		s, ok := b.in.asText(name, e)
		if !ok {
			return nil
		}
		list = append(list, Placed{s, exprs[i].Range(), b.in.path + "." + name})
	}
	return list
}

// FailAt reports what is wrong with an element of a list.
func (b *Block) FailAt(p Placed, hint, summary string, args ...any) {
	b.in.c.failAt(p.at, p.path, hint, fmt.Sprintf(summary, args...))
}

// Numbers reads a map of numbers from lo to hi.
func (b *Block) Numbers(name string, lo, hi float64) map[string]float64 {
	all, ok := b.mapped(name)
	if !ok {
		return nil
	}
	numbers := make(map[string]float64, len(all))
	for _, key := range keys(all) {
		f, said := math.NaN(), describeValue(all[key])
		if v := all[key]; v.Type() == cty.Number && !v.IsNull() {
			f, _ = v.AsBigFloat().Float64()
			said = quoteNumber(v.AsBigFloat())
		}
		if !(f >= lo && f <= hi) {
			b.Wrong(name, fmt.Sprintf("a number from %v to %v", lo, hi), "has for %s %s", quote(key), said)
			continue
		}
		numbers[key] = f
	}
	return numbers
}

// Given reads a map of values for variables.
func (b *Block) Given(name string) []*pb.Variable {
	all, _ := b.mapped(name)
	var list []*pb.Variable
	for _, key := range keys(all) {
		list = append(list, &pb.Variable{Name: key, Value: render(all[key])})
	}
	return list
}

func (b *Block) mapped(name string) (map[string]cty.Value, bool) {
	v, ok := b.in.value(name)
	if !ok {
		return nil, false
	}
	if t := v.Type(); !t.IsObjectType() && !t.IsMapType() {
		b.Wrong(name, "a map is written in braces: { name = value }", "must be a map, not %s", describeValue(v))
		return nil, false
	}
	return v.AsValueMap(), true
}

// All gives the blocks of a type inside this one, each with as many labels.
func (b *Block) All(kind string, labels int) []*Block {
	var list []*Block
	for _, in := range b.in.all(kind, labels) {
		list = append(list, &Block{*in})
	}
	return list
}

// One gives the block of a type inside this one; nil: there is none.
func (b *Block) One(kind string) *Block {
	in := b.in.one(kind)
	if in == nil {
		return nil
	}
	return &Block{*in}
}

// Meant is the hint for a name that is not known: the nearest one, or all when they are few.
func Meant(name string, known []string) string { return meant(name, known) }

// Quote shows a text from the sources, short, and never one that may be a secret.
func Quote(s string) string { return quote(s) }
