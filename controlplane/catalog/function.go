package catalog

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// functions are those of other HCL tools that only compute: none reads a file, the environment or the
// clock, and none makes much out of little.
var functions = map[string]function.Function{
	"abs":        stdlib.AbsoluteFunc,
	"ceil":       stdlib.CeilFunc,
	"coalesce":   stdlib.CoalesceFunc,
	"compact":    stdlib.CompactFunc,
	"concat":     stdlib.ConcatFunc,
	"contains":   stdlib.ContainsFunc,
	"distinct":   stdlib.DistinctFunc,
	"dns":        dnsFunc,
	"element":    stdlib.ElementFunc,
	"flatten":    stdlib.FlattenFunc,
	"floor":      stdlib.FloorFunc,
	"join":       stdlib.JoinFunc,
	"keys":       stdlib.KeysFunc,
	"length":     stdlib.LengthFunc,
	"lookup":     stdlib.LookupFunc,
	"lower":      stdlib.LowerFunc,
	"max":        stdlib.MaxFunc,
	"merge":      stdlib.MergeFunc,
	"min":        stdlib.MinFunc,
	"reverse":    stdlib.ReverseListFunc,
	"slice":      stdlib.SliceFunc,
	"sort":       stdlib.SortFunc,
	"split":      stdlib.SplitFunc,
	"trimprefix": stdlib.TrimPrefixFunc,
	"trimspace":  stdlib.TrimSpaceFunc,
	"trimsuffix": stdlib.TrimSuffixFunc,
	"upper":      stdlib.UpperFunc,
	"values":     stdlib.ValuesFunc,
	"zipmap":     stdlib.ZipmapFunc,
}

// dnsFunc says that an endpoint's instances are what a name resolves to: dns("host:port").
var dnsFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "address", Type: cty.String}},
	Type:   function.StaticReturnType(cty.Object(map[string]cty.Type{"dns": cty.String})),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		return cty.ObjectVal(map[string]cty.Value{"dns": args[0]}), nil
	},
})
