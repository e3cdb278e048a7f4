package catalog

import (
	"bytes"
	"maps"
	"slices"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Diff tells what differs, by kind and name and, for what is in both, per attribute, as effective values
// rendered for people.
func Diff(before, after []*pb.Resource) []*pb.Change {
	old, now := byKey(before), byKey(after)
	all := byKey(slices.Concat(before, after))
	var changes []*pb.Change
	for _, k := range slices.SortedFunc(maps.Keys(all), compareKeys) {
		changes = append(changes, change(k, old[k], now[k])...)
	}
	return changes
}

func byKey(resources []*pb.Resource) map[wire.Key]*pb.Resource {
	m := make(map[wire.Key]*pb.Resource, len(resources))
	for _, r := range resources {
		m[wire.Key{Kind: r.GetKind(), Name: r.GetName()}] = r
	}
	return m
}

func change(k wire.Key, before, after *pb.Resource) []*pb.Change {
	whole := &pb.Change{Kind: k.Kind, Name: k.Name}
	switch {
	case before == nil:
		whole.Change = pb.ChangeKind_CHANGE_KIND_ADDED
		return []*pb.Change{whole}
	case after == nil:
		whole.Change = pb.ChangeKind_CHANGE_KIND_REMOVED
		return []*pb.Change{whole}
	case bytes.Equal(before.GetBody(), after.GetBody()):
		return nil
	}
	return attributes(k, Describe(before), Describe(after))
}

// attributes compares line by line: those of after in their order, then those that are gone.
func attributes(k wire.Key, before, after []Line) []*pb.Change {
	old, now := valueOf(before), valueOf(after)
	var changes []*pb.Change
	for _, l := range after {
		if old[l.Attribute] != l.Value {
			changes = append(changes, changed(k, l.Attribute, old[l.Attribute], l.Value))
		}
	}
	for _, l := range before {
		if _, still := now[l.Attribute]; !still {
			changes = append(changes, changed(k, l.Attribute, l.Value, ""))
		}
	}
	return changes
}

func valueOf(lines []Line) map[string]string {
	m := make(map[string]string, len(lines))
	for _, l := range lines {
		m[l.Attribute] = l.Value
	}
	return m
}

func changed(k wire.Key, attribute, before, after string) *pb.Change {
	return &pb.Change{
		Change: pb.ChangeKind_CHANGE_KIND_CHANGED, Kind: k.Kind, Name: k.Name,
		Attribute: attribute, Before: before, After: after,
	}
}
