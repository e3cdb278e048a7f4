// Package catalog turns a folder of HCL into the resources of a revision: it formats, evaluates,
// resolves every default and reports every finding, and it compares and composes revisions. It
// reads no environment, opens no connection and stores nothing; the command line and the
// control plane's services call it.
package catalog

import (
	"time"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Options are what a compilation depends on besides its sources.
type Options struct {
	Now time.Time // for what retires or expires; zero: nothing does
}

// Result is a compiled catalog: resources in order of kind and name, none if a finding is an error,
// and findings in order of source.
type Result struct {
	Resources []*pb.Resource
	Findings  []*pb.Finding
}

// Failed tells whether a finding is an error.
func (r *Result) Failed() bool {
	for _, f := range r.Findings {
		if f.Severity == pb.Severity_SEVERITY_ERROR {
			return true
		}
	}
	return false
}

// Compile evaluates sources and resolves every default. It fails by findings only.
func Compile(src *pb.Sources, o Options) *Result {
	c := newCompiler()
	files, err := bounded(src)
	if err != nil {
		c.fail("", "", "%v", err)
		return c.result()
	}
	bodies, whole := c.parse(files)
	if !whole { // what is declared is not known: all else would follow from it
		return c.result()
	}
	c.declare(bodies)
	c.evaluate(src.GetVariables())
	c.read()
	c.judge(o.Now)
	return c.result()
}

func (c *compiler) result() *Result {
	r := &Result{Findings: c.sorted()}
	if r.Failed() {
		return r
	}
	resources, err := c.catalog.resources()
	if err != nil {
		c.fail("", "", "%v", err)
		return &Result{Findings: c.sorted()}
	}
	r.Resources = resources
	return r
}
