package catalog

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// compiler is one compilation, in steps: parse, declare, evaluate what names depend on, read, judge.
type compiler struct {
	*report
	meter     meter
	blocks    map[string][]*declaration // by block type, in order of source; one a name
	known     map[string]map[string]bool
	locals    map[string]*local
	unknown   []string // prefixes of endpoints whose for_each could not be evaluated
	names     string   // what expressions may name, for those who name something else
	scope     *hcl.EvalContext
	policies  map[string]*policy
	breakers  map[string]patch[pb.BreakerPolicy] // of models and providers, by path
	catalog   *set
	wildcards map[string]bool // places in tiers that a pattern filled: workload.w.tier.t.endpoints.e
}

// declaration is one named block; with for_each, one of its results.
type declaration struct {
	name  string
	path  string
	block *hclsyntax.Block
	scope *hcl.EvalContext
}

// The block types, and how many labels each has.
var blockTypes = map[string]int{
	"variable": 1, "locals": 0, "model": 1, "provider": 1, "quota": 1, "endpoint": 1,
	"policy": 1, "workload": 1, "tool": 1, "tenant": 1,
}

const nameRule = "a name is a lower-case letter, then lower-case letters, digits and dashes, 128 at most"

var nameShape = regexp.MustCompile(`^[a-z][a-z0-9-]{0,127}$`)

// variableShape also takes what other HCL tools call their variables: under_scores.
var variableShape = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,127}$`)

func newCompiler() *compiler {
	return &compiler{
		names:  "var.x, local.x, model.x, provider.x, quota.x, endpoint.x, policy.x",
		report: newReport(), meter: meter{maxWork}, blocks: map[string][]*declaration{}, known: map[string]map[string]bool{},
		locals: map[string]*local{}, policies: map[string]*policy{}, breakers: map[string]patch[pb.BreakerPolicy]{}, catalog: newSet(), wildcards: map[string]bool{},
	}
}

// declare collects the blocks of all files by type and name.
func (c *compiler) declare(bodies []*hclsyntax.Body) {
	for kind := range blockTypes {
		c.known[kind] = map[string]bool{}
	}
	for _, body := range bodies {
		for name, a := range body.Attributes {
			c.failAt(a.NameRange, name, "attributes are written inside blocks; a value of your own belongs in locals", "attribute "+quote(name)+" is outside of any block")
		}
		for _, b := range body.Blocks {
			c.declareBlock(b)
		}
	}
}

func (c *compiler) declareBlock(b *hclsyntax.Block) {
	labels, ok := blockTypes[b.Type]
	path := b.Type + "." + strings.Join(b.Labels, ".")
	switch {
	case !ok:
		c.failAt(b.TypeRange, b.Type, meant(b.Type, keys(blockTypes)), "unknown block "+quote(b.Type))
	case len(b.Labels) != labels:
		c.failAt(b.DefRange(), b.Type, fmt.Sprintf("%s takes %d", b.Type, labels), fmt.Sprintf("%s with %d labels", b.Type, len(b.Labels)))
	case b.Type == "locals":
		c.declareLocals(b.Body)
	default:
		c.declareNamed(b, path)
	}
}

// mark remembers where a path is, unless something of that name was there first.
func (c *compiler) mark(path string, at hcl.Range) {
	if _, ok := c.places[path]; !ok {
		c.places[path] = at
	}
}

func (c *compiler) declareNamed(b *hclsyntax.Block, path string) {
	name, shape := b.Labels[0], nameShape
	if b.Type == "variable" {
		shape = variableShape
	}
	if !shape.MatchString(name) {
		c.failAt(b.LabelRanges[0], path, nameRule, fmt.Sprintf("%s is not a name, as this %s needs", quote(name), b.Type))
		c.failed[path] = true // with a dot in it, too
	}
	if c.known[b.Type][name] {
		c.twice(path, b.LabelRanges[0], fmt.Sprintf("%s %s is declared twice", b.Type, quote(name)))
		return
	}
	c.known[b.Type][name] = true
	c.places[path] = b.DefRange()
	c.blocks[b.Type] = append(c.blocks[b.Type], &declaration{name: name, path: path, block: b})
}

// twice reports what has been declared before; the first one holds.
func (c *compiler) twice(path string, at hcl.Range, summary string) {
	first := c.place(path)
	c.failAt(at, path, fmt.Sprintf("the first one is at %s:%d", first.Filename, first.Start.Line), summary)
}

// evaluate makes what expressions may refer to, endpoints last: their names depend on the others.
func (c *compiler) evaluate(values []*pb.Variable) {
	c.scope = &hcl.EvalContext{Variables: map[string]cty.Value{}, Functions: functions}
	c.scope.Variables["var"] = c.variables(values)
	for _, kind := range []string{"model", "provider", "quota", "policy"} {
		c.scope.Variables[kind] = c.references(kind)
	}
	c.expand()
	c.scope.Variables["endpoint"] = c.references("endpoint")
	c.scope.Functions = withEndpoints(c.known["endpoint"], len(c.unknown) > 0)
	c.scope.Variables["local"] = c.allLocals()
}

// read reads every block into the set.
func (c *compiler) read() {
	for _, kind := range []struct {
		name string
		read func(*block)
	}{
		{"policy", c.readPolicy}, {"provider", c.readProvider}, {"model", c.readModel}, {"quota", c.readQuota},
		{"endpoint", c.readEndpoint}, {"workload", c.readWorkload}, {"tool", c.readTool}, {"tenant", c.readTenant},
	} {
		for _, d := range c.blocks[kind.name] {
			b := c.open(d)
			kind.read(b)
			b.close()
		}
	}
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
