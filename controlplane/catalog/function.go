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
	"distinct":   distinctFunc,
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

// distinctFunc keeps the first of equal elements. The library's compares each with each.
var distinctFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
	Type: func(args []cty.Value) (cty.Type, error) {
		if !args[0].IsWhollyKnown() {
			return cty.DynamicPseudoType, nil
		}
		v, err := distinct(args[0])
		return v.Type(), err
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return distinct(args[0]) },
})

func distinct(list cty.Value) (cty.Value, error) {
	if t := list.Type(); !t.IsTupleType() && !t.IsListType() && !t.IsSetType() {
		return cty.DynamicVal, function.NewArgErrorf(0, "it is %s, not a list", describeValue(list))
	}
	seen, kept := map[any]bool{}, []cty.Value{}
	for _, v := range list.AsValueSlice() {
		k, err := sameness(v)
		if err != nil {
			return cty.DynamicVal, err
		}
		if !seen[k] {
			seen[k] = true
			kept = append(kept, v)
		}
	}
	return cty.TupleVal(kept), nil
}

// sameness is equal for equal values of the sorts that names are.
func sameness(v cty.Value) (any, error) {
	if r, ok := asReference(v); ok {
		return [2]string{r.kind, r.name}, nil
	}
	if v.IsNull() || v.Type() != cty.String {
		return nil, function.NewArgErrorf(0, "it holds %s; distinct is for texts and names of blocks", describeValue(v))
	}
	return v.AsString(), nil
}
