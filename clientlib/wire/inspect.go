package wire

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// What can be wrong with a body as a whole.
const (
	undecodable = "its body does not decode"
	otherName   = "its body has another name"
)

// inspect looks at every field that is set: which numbers cannot be (nothing in a catalog
// is negative or not a number), and which enums have a value that is not known here.
func inspect(m proto.Message) (bad, unknown string) {
	var in inspection
	in.message("", m.ProtoReflect())
	slices.Sort(in.bad) // fields come in no order
	slices.Sort(in.unknown)
	return strings.Join(in.bad, ", "), strings.Join(in.unknown, ", ")
}

type inspection struct{ bad, unknown []string }

func (in *inspection) message(path string, m protoreflect.Message) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.Kind() == protoreflect.StringKind { // most are: nothing can be wrong with them
			return true
		}
		name := path + string(f.Name())
		if !f.IsList() {
			in.value(name, f, v)
			return true
		}
		for i := range v.List().Len() {
			in.value(fmt.Sprintf("%s[%d]", name, i), f, v.List().Get(i))
		}
		return true
	})
}

func (in *inspection) value(name string, f protoreflect.FieldDescriptor, v protoreflect.Value) {
	switch f.Kind() {
	case protoreflect.MessageKind:
		in.message(name+".", v.Message())
	case protoreflect.EnumKind:
		if f.Enum().Values().ByNumber(v.Enum()) == nil {
			in.unknown = append(in.unknown, fmt.Sprintf("%s %d", name, v.Enum()))
		}
	case protoreflect.Int64Kind:
		if v.Int() < 0 {
			in.bad = append(in.bad, fmt.Sprintf("%s is %d", name, v.Int()))
		}
	case protoreflect.DoubleKind:
		if !sane(v.Float()) {
			in.bad = append(in.bad, fmt.Sprintf("%s is %v", name, v.Float()))
		}
	}
}

// sane tells whether x can be a ratio, a count or a factor.
func sane(x float64) bool { return x >= 0 && !math.IsInf(x, 1) }
