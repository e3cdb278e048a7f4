package hub

import (
	"fmt"
	"strings"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Bounds of what one child says: all of it is kept or passed on.
const (
	maxName      = 256 // bytes of a leaf's name, a node's, a locality's
	maxHeld      = 2 * maxViews
	maxSubscribe = 256 << 10                  // bytes of a selector's names
	maxReport    = wire.MaxReport + 4*maxName // bytes of one leaf's interval, or a node's, with what relays stamp
	maxReason    = 4 << 10                    // bytes of why a version was refused, or a workload is unusable
	maxUnusable  = 256                        // workloads that one leaf names
	maxState     = 64 << 10                   // bytes of what one leaf says of them
	maxDigest    = 64                         // bytes
)

// named refuses names that nobody would give.
func named(names ...string) error {
	for _, n := range names {
		if len(n) > maxName {
			return fmt.Errorf("a name of %d bytes, at most %d: %.32q", len(n), maxName, n)
		}
	}
	return nil
}

// fit cuts what a leaf says of its catalog to what is kept of it.
func fit(s *pb.LeafState) {
	s.Nack = cut(s.Nack)
	s.Unusable = s.Unusable[:min(len(s.Unusable), maxUnusable)]
	size := 0
	for i, u := range s.Unusable {
		u.Workload, u.Reason = cut(u.Workload), cut(u.Reason)
		if size += len(u.Workload) + len(u.Reason); size > maxState {
			s.Unusable = s.Unusable[:i]
			return
		}
	}
}

// checkHeld refuses versions and digests that nobody made: what a child holds is kept.
func checkHeld(held []*pb.Held) error {
	for _, h := range held {
		if len(h.Digest) > maxDigest {
			return fmt.Errorf("a digest of %d bytes, at most %d", len(h.Digest), maxDigest)
		}
		if err := named(h.Version.GetStoreId(), h.Nacked.GetStoreId()); err != nil {
			return err
		}
	}
	return nil
}

func cut(text string) string {
	if len(text) <= maxReason {
		return text
	}
	return strings.ToValidUTF8(text[:maxReason], "") + " …"
}
