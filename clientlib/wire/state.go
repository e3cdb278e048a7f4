package wire

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"iter"
	"slices"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Entry is one resource of a state.
type Entry struct {
	Body []byte // never written to again
	Hash Hash
	At   int64 // when the row was made, or the override set, on the reader's clock, µs; 0: not dated
}

// State is one track of one view at one version. It never changes: applying an update
// gives another one, which shares the bodies that did not change.
type State struct {
	track   pb.Track
	version *pb.Version
	rows    []row // by key
	digest  [sha256.Size]byte
	empty   pb.EmptyReason
}

type row struct {
	key   Key
	entry Entry
}

// NewState makes a state of entries.
func NewState(track pb.Track, version *pb.Version, entries map[Key]Entry) *State {
	rows := make([]row, 0, len(entries))
	for k, e := range entries {
		rows = append(rows, row{k, e})
	}
	slices.SortFunc(rows, func(a, b row) int { return a.key.compare(b.key) })
	return &State{track: track, version: version, rows: rows, digest: digestOf(rows)}
}

// digestOf is the SHA-256 over the rows by kind and name: the kind and the name's length
// as four bytes each, big endian, then the name, then the body's hash. Dates are not part of it.
func digestOf(rows []row) [sha256.Size]byte {
	h := sha256.New()
	var head [8]byte
	for _, r := range rows {
		binary.BigEndian.PutUint32(head[:4], uint32(r.key.Kind))
		binary.BigEndian.PutUint32(head[4:], uint32(len(r.key.Name)))
		write(h, head[:], []byte(r.key.Name), r.entry.Hash[:])
	}
	return [sha256.Size]byte(h.Sum(nil))
}

func write(h hash.Hash, parts ...[]byte) {
	for _, p := range parts {
		h.Write(p) // a hash never fails
	}
}

// Because says why the state is empty; without it a child keeps what it has.
func (s *State) Because(reason pb.EmptyReason) *State {
	next := *s
	next.empty = reason
	return &next
}

// Empty is why the state is empty, if it is and somebody said.
func (s *State) Empty() pb.EmptyReason { return s.empty }

// Track is the state's track.
func (s *State) Track() pb.Track { return s.track }

// Version is the state's version; a nil state's is nil. Nobody changes it.
func (s *State) Version() *pb.Version {
	if s == nil {
		return nil
	}
	return s.version
}

// Digest is of the whole state: two sides that hold the same resources have the same.
// A nil state has none.
func (s *State) Digest() []byte {
	if s == nil {
		return nil
	}
	return s.digest[:]
}

// Len counts the resources.
func (s *State) Len() int {
	if s == nil {
		return 0
	}
	return len(s.rows)
}

// Lookup finds one resource.
func (s *State) Lookup(k Key) (Entry, bool) {
	if s == nil {
		return Entry{}, false
	}
	i, ok := slices.BinarySearchFunc(s.rows, k, func(r row, k Key) int { return r.key.compare(k) })
	if !ok {
		return Entry{}, false
	}
	return s.rows[i].entry, true
}

// All ranges over the resources by kind and name.
func (s *State) All() iter.Seq2[Key, Entry] {
	return func(yield func(Key, Entry) bool) {
		if s == nil {
			return
		}
		for _, r := range s.rows {
			if !yield(r.key, r.entry) {
				return
			}
		}
	}
}

// kind gives the rows of one kind, by name.
func (s *State) kind(kind pb.Kind) []row {
	if s == nil {
		return nil
	}
	at := func(k pb.Kind) int {
		i, _ := slices.BinarySearchFunc(s.rows, Key{Kind: k}, func(r row, k Key) int { return r.key.compare(k) })
		return i
	}
	return s.rows[at(kind):at(kind+1)]
}

// Same tells that o says nothing that s does not: the same rows at the same version, with
// the same dates.
func (s *State) Same(o *State) bool {
	if s == nil || o == nil {
		return s == o
	}
	return s.track == o.track && Compare(s.track, s.version, o.version) == 0 && s.digest == o.digest &&
		slices.EqualFunc(s.rows, o.rows, func(a, b row) bool { return a.entry.At == b.entry.At })
}

// Older is the state with every dated row made by µs earlier: for a clock that stood
// still meanwhile.
func (s *State) Older(by int64) *State {
	next := *s
	next.rows = slices.Clone(s.rows)
	for i := range next.rows {
		if e := &next.rows[i].entry; e.At != 0 {
			e.At = dateOf(e.At, by)
		}
	}
	return &next
}
