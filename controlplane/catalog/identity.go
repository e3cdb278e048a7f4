package catalog

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// identity is what breakers, leases and learned state are keyed by besides the name (control-plane.md,
// identity of an endpoint): one that is pointed elsewhere starts clean.
func identity(e *pb.Endpoint, p *pb.Provider, m *pb.Model) uint64 {
	address := p.GetBaseUrl()
	if in := e.GetInstances(); in != nil {
		address += " " + in.Dns + " " + strings.Join(in.Addresses, " ")
	}
	h := sha256.New()
	for _, part := range []string{address, m.GetArtifact(), e.GetWireModel(), e.GetRegion(), p.GetName()} {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part)))) // a hash never fails
		h.Write([]byte(part))
	}
	return binary.BigEndian.Uint64(h.Sum(nil))
}
