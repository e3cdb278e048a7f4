// Package wire turns the protocol's messages into the core's values and back, and
// checks them once on the way. It also holds states: what one side has of one track of
// one view, as encoded resources that nobody decodes to pass on.
//
// It decides nothing about requests, opens no connection and starts no goroutine. It is
// the only package that knows both proto and route; uplink, the hubs and the control
// plane call it.
package wire

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Hash is the content hash of a resource: the first 16 bytes of its body's SHA-256.
type Hash [16]byte

// HashOf hashes an encoded body.
func HashOf(body []byte) Hash {
	sum := sha256.Sum256(body)
	return Hash(sum[:16])
}

// Key names a resource of a state.
type Key struct {
	Kind pb.Kind
	Name string
}

func (k Key) String() string {
	kind := strings.TrimPrefix(k.Kind.String(), "KIND_")
	return fmt.Sprintf("%s %q", strings.ReplaceAll(strings.ToLower(kind), "_", " "), k.Name)
}

func (k Key) compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Kind, o.Kind), strings.Compare(k.Name, o.Name))
}

// firstFleetKind divides the kinds: those below belong to the catalog track.
const firstFleetKind = 32 // catalog.proto, Kind

func (k Key) track() pb.Track {
	switch {
	case k.Kind <= 0:
		return pb.Track_TRACK_UNSPECIFIED
	case k.Kind < firstFleetKind:
		return pb.Track_TRACK_CATALOG
	}
	return pb.Track_TRACK_FLEET
}

// Resource encodes m, deterministically, as the resource of that kind and name.
func Resource(kind pb.Kind, name string, m proto.Message) (*pb.Resource, error) {
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode %v: %w", Key{kind, name}, err)
	}
	return &pb.Resource{Kind: kind, Name: name, Body: body}, nil
}

// Compare orders two versions of a track: negative when a is older. Nil is oldest.
// The catalog's revision informs and never orders.
func Compare(track pb.Track, a, b *pb.Version) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	case track == pb.Track_TRACK_CATALOG:
		return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Generation, b.Generation))
	}
	return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Term, b.Term), cmp.Compare(a.Sequence, b.Sequence))
}
