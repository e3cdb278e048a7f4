package catalog

import (
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/pointsman/pointsman/clientlib/route/money"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Line is one attribute of a resource, rendered for people: "price.input", "$2.00/M".
type Line struct{ Attribute, Value string }

// Describe gives a resource's effective values, in the order of its message. What is empty has no line.
func Describe(r *pb.Resource) []Line {
	m, err := Decode(r)
	if m == nil || err != nil {
		return []Line{{"body", fmt.Sprintf("%x", wire.HashOf(r.GetBody()))}}
	}
	var d description
	d.message("", m.ProtoReflect(), "name")
	return d.lines
}

// kindName is a kind as the catalog calls it.
func kindName(k pb.Kind) string { return enumName("KIND_", k.String()) }

func enumName(prefix, value string) string {
	return strings.ToLower(strings.TrimPrefix(value, prefix))
}

type description struct{ lines []Line }

func (d *description) add(attribute, value string) {
	if value != "" {
		d.lines = append(d.lines, Line{attribute, value})
	}
}

// message describes all fields but the one that the path names already.
func (d *description) message(path string, m protoreflect.Message, but protoreflect.Name) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.Name() == but {
			continue
		}
		name := path + attributeName(f.Name())
		switch {
		case f.IsList() && f.Message() != nil:
			d.list(path, f, m.Get(f).List())
		case f.IsList():
			d.add(name, texts(f, m.Get(f).List()))
		case f.Message() != nil:
			if m.Has(f) {
				d.message(name+".", m.Get(f).Message(), "")
			}
		case f.HasPresence() && !m.Has(f):
			d.add(name, absent(f))
		default:
			d.add(name, scalar(f, m.Get(f)))
		}
	}
}

// list describes messages by what tells them apart; where that is a name, their order counts too.
func (d *description) list(path string, f protoreflect.FieldDescriptor, list protoreflect.List) {
	key := keyOf(f.Message())
	var order []string
	for i := range list.Len() {
		m, name, but := list.Get(i).Message(), strconv.Itoa(i+1), protoreflect.Name("")
		if key != nil {
			name = fmt.Sprint(m.Get(key).Interface())
			but = key.Name()
		}
		if but == "name" {
			order = append(order, name)
		}
		d.message(path+attributeName(f.Name())+"."+name+".", m, but)
	}
	if len(order) > 1 {
		d.add(path+string(f.Name()), strings.Join(order, ", "))
	}
}

func keyOf(m protoreflect.MessageDescriptor) protoreflect.FieldDescriptor {
	for _, name := range []protoreflect.Name{"name", "quota", "input_tokens"} {
		if f := m.Fields().ByName(name); f != nil {
			return f
		}
	}
	return nil
}

// attributeName is what the catalog calls a field.
func attributeName(field protoreflect.Name) string {
	switch field {
	case "nano_usd":
		return "usd"
	case "tiers":
		return "tier"
	case "bands":
		return "band"
	case "equivalents":
		return "equivalent"
	case "reservations":
		return "reserve"
	}
	return strings.TrimSuffix(string(field), "_us")
}

// absent says what an optional number that is not there stands for.
func absent(f protoreflect.FieldDescriptor) string {
	switch f.Name() {
	case "weight":
		return "100 × learned speed"
	case "upto_tokens":
		return "any"
	}
	return "unlimited"
}

// zeros say what a zero stands for.
var zeros = map[protoreflect.Name]string{
	"ttft_limit_us": "off", "consecutive": "off", "max_ttft_us": "none", "freshness_us": "never", "money_per_ms": "pure latency",
}

func scalar(f protoreflect.FieldDescriptor, v protoreflect.Value) string {
	switch f.Kind() {
	case protoreflect.EnumKind:
		value := f.Enum().Values().ByNumber(v.Enum())
		if value == nil {
			return strconv.Itoa(int(v.Enum()))
		}
		prefix := strings.TrimSuffix(string(f.Enum().Values().Get(0).Name()), "UNSPECIFIED")
		return enumName(prefix, string(value.Name()))
	case protoreflect.Int64Kind:
		return integer(f, v.Int())
	case protoreflect.Fixed64Kind:
		return fmt.Sprintf("%016x", v.Uint())
	case protoreflect.DoubleKind:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	}
	return fmt.Sprint(v.Interface())
}

func integer(f protoreflect.FieldDescriptor, n int64) string {
	if word, ok := zeros[f.Name()]; ok && n == 0 {
		return word
	}
	switch in := f.Parent().Name(); {
	case in == "Price", in == "PriceAbove":
		return "$" + money.Pico(n).String() + "/M"
	case f.Name() == "nano_usd", f.Name() == "money_per_ms":
		return "$" + money.Nano(n).String()
	case strings.HasSuffix(string(f.Name()), "_us"):
		return micros(n)
	}
	return strconv.FormatInt(n, 10)
}

func texts(f protoreflect.FieldDescriptor, list protoreflect.List) string {
	if list.Len() == 0 && f.Name() == "regions" {
		return "any"
	}
	var parts []string
	for i := range list.Len() {
		parts = append(parts, scalar(f, list.Get(i)))
	}
	return strings.Join(parts, ", ")
}
