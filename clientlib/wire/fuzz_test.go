package wire

import (
	"maps"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func encoded(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Whatever bytes come as a state, reading, decoding and cutting them out ends well, and
// what was read is written and read again as the same. The digest is put right first: it
// would keep the fuzzer out.
func FuzzRead(f *testing.F) {
	row, err := EncodeFleetEndpoint(1000, sampleRow())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(int64(5), encoded(f, Whole(200, 1, sample().state(f))))
	f.Add(int64(5), encoded(f, Whole(200, 1, broken(sample().state(f), Key{pb.Kind_KIND_ENDPOINT, "a"}))))
	f.Add(int64(-9), encoded(f, Whole(2000, 1, fleetRow(1000, row))))
	f.Fuzz(func(t *testing.T, dated int64, b []byte) {
		var u pb.Update
		if proto.Unmarshal(b, &u) != nil || u.Since != nil {
			return
		}
		entries, err := (*State)(nil).merge(&u)
		if err != nil {
			return
		}
		u.Digest = NewState(u.Track, u.Version, entries).Digest()
		s, err := Read(dated, encoded(t, &u))
		if err != nil {
			return
		}
		for _, cold := range []bool{true, false} {
			if c, _, err := Catalog(s, cold); (c == nil) != (err != nil) || cold && err != nil {
				t.Errorf("cold %v: catalog %v, error %v", cold, c, err)
			}
		}
		if f, err := Fleet(s); (f == nil) != (err != nil) {
			t.Errorf("fleet %v, error %v", f, err)
		}
		for k := range Closure(s, Selector{Workloads: []string{"chat", "fx"}}) {
			if _, ok := s.Lookup(k); !ok {
				t.Errorf("the closure holds %v, which is not there", k)
			}
		}
		FleetClosure(s, s)
		again, err := Read(dated, encoded(t, Whole(dated, 1, s)))
		if err != nil || !slices.Equal(again.Digest(), s.Digest()) {
			t.Errorf("written and read again: %v", err)
		}
	})
}

// An update to a state that is held leaves it as it was, and what results has the digest
// that was announced.
func FuzzApply(f *testing.F) {
	f.Add(encoded(f, Whole(200, 1, sample().state(f))))
	f.Add(encoded(f, step(sample().state(f), sample().state(f), nil, "q")))
	f.Fuzz(func(t *testing.T, b []byte) {
		var u pb.Update
		if proto.Unmarshal(b, &u) != nil {
			return
		}
		held := sample().state(t)
		before := maps.Collect(held.All())
		next, err := held.Apply(100, &u)
		if err == nil && !slices.Equal(next.Digest(), u.Digest) {
			t.Errorf("digest %x, announced %x", next.Digest(), u.Digest)
		}
		if !maps.EqualFunc(before, maps.Collect(held.All()), func(a, b Entry) bool { return a.Hash == b.Hash && a.At == b.At }) {
			t.Error("the state that was held changed")
		}
	})
}

func FuzzReport(f *testing.F) {
	f.Add(int64(5), encoded(f, EncodeReport(1000, sampleReport())))
	f.Fuzz(func(t *testing.T, dated int64, b []byte) {
		var m pb.LeafReport
		if proto.Unmarshal(b, &m) != nil {
			return
		}
		r, err := Report(dated, &m)
		if err == nil && r.At > dated && r.At != -1 {
			t.Errorf("a report dated %d is from %d", dated, r.At)
		}
	})
}

func FuzzGrant(f *testing.F) {
	f.Add(int64(5), encoded(f, &pb.Grant{What: &pb.Grant_Permit{Permit: &pb.Permit{Class: 1, Phase: 1, UseByUs: 9}}}))
	f.Add(int64(5), encoded(f, &pb.Grant{What: &pb.Grant_Lease{Lease: &pb.Lease{Quota: "q", Parts: []*pb.LeasePart{{Dimension: 1, Rate: 9}}}}}))
	f.Fuzz(func(t *testing.T, dated int64, b []byte) {
		var m pb.Grant
		if proto.Unmarshal(b, &m) != nil {
			return
		}
		if p, ok := Permit(dated, &m); ok && p.UseBy < dated {
			t.Errorf("a permit dated %d is to be used by %d", dated, p.UseBy)
		}
		for _, l := range Lease(dated, &m) {
			if l.Until < l.From || l.Rate < 0 || l.Safe < 0 {
				t.Errorf("a lease dated %d: %+v", dated, l)
			}
		}
	})
}
