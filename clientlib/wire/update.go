package wire

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Why an update is not applied. The state that was held stays as it was.
var (
	ErrSince = errors.New("the update starts above the version held")
	ErrOlder = errors.New("the update is older than the version held")
	errEmpty = errors.New("the update leaves nothing and does not say why") // bad content, as any other
)

// DigestError says that both sides do not hold the same: ask for the whole state.
type DigestError struct {
	Version    *pb.Version
	Want, Have []byte
}

func (e *DigestError) Error() string {
	return fmt.Sprintf("digest %x after the update, %x announced", e.Have, e.Want)
}

// Apply gives the state that u leads to. It is idempotent and takes any state at or above
// u.since; nil takes only a whole state. Dated is when u was sent, on the reader's clock,
// at the latest. A catalog that becomes empty without a reason is refused; a fleet track
// may be empty, for it decays to that by itself.
func (s *State) Apply(dated int64, u *pb.Update) (*State, error) {
	if err := s.accepts(u); err != nil {
		return nil, err
	}
	entries, err := s.merge(u)
	if err != nil {
		return nil, err
	}
	s.date(dated, u.Ages, entries)
	next := NewState(u.Track, u.Version, entries)
	if !bytes.Equal(next.Digest(), u.Digest) {
		return nil, &DigestError{Version: u.Version, Want: u.Digest, Have: next.Digest()}
	}
	if next.Len() > 0 {
		return next, nil
	}
	if u.Empty == pb.EmptyReason_EMPTY_REASON_UNSPECIFIED && u.Track == pb.Track_TRACK_CATALOG {
		return nil, errEmpty
	}
	return next.Because(u.Empty), nil
}

func (s *State) accepts(u *pb.Update) error {
	switch {
	case u.GetVersion() == nil:
		return errors.New("the update has no version")
	case u.Track != pb.Track_TRACK_CATALOG && u.Track != pb.Track_TRACK_FLEET:
		return fmt.Errorf("unknown track %d", u.Track)
	case s != nil && u.Track != s.track:
		return fmt.Errorf("an update of %v for a state of %v", u.Track, s.track)
	case u.Since != nil && Compare(u.Track, s.Version(), u.Since) < 0:
		return ErrSince
	case Compare(u.Track, u.Version, s.Version()) < 0:
		return ErrOlder
	}
	return nil
}

// merge gives the entries that result, without dates where the body is new.
func (s *State) merge(u *pb.Update) (map[Key]Entry, error) {
	entries := make(map[Key]Entry, s.Len()+len(u.Upserts))
	if u.Since != nil {
		for k, e := range s.All() {
			entries[k] = e
		}
	}
	for _, r := range u.Removed {
		delete(entries, Key{r.GetKind(), r.GetName()})
	}
	for _, r := range u.Upserts {
		k := Key{r.GetKind(), r.GetName()}
		if k.track() != u.Track || k.Name == "" {
			return nil, fmt.Errorf("%v does not belong to %v", k, u.Track)
		}
		e := Entry{Body: r.Body, Hash: HashOf(r.Body)}
		if held, ok := s.Lookup(k); ok && held.Hash == e.Hash {
			e = held
		}
		entries[k] = e
	}
	return entries, nil
}

// date gives rows their dates. A body that is held already keeps the later of two dates:
// both are lower bounds of when it was made.
func (s *State) date(dated int64, ages []*pb.Age, entries map[Key]Entry) {
	for _, a := range ages {
		k := Key{a.GetKind(), a.GetName()}
		e, ok := entries[k]
		if !ok {
			continue
		}
		at := dateOf(dated, a.AgeUs)
		if e.At == 0 || at > e.At {
			e.At = at
		}
		entries[k] = e
	}
}

// Whole is the state as an update that needs nothing before it: what a child without a
// state is sent, and, encoded, what state files and bootstrap bytes hold.
func Whole(now int64, view uint32, s *State) *pb.Update {
	u := &pb.Update{Track: s.track, View: view, Version: s.version, Digest: slices.Clone(s.Digest()), Empty: s.empty}
	for k, e := range s.All() {
		u.Upserts = append(u.Upserts, &pb.Resource{Kind: k.Kind, Name: k.Name, Body: e.Body})
		if e.At != 0 {
			u.Ages = append(u.Ages, &pb.Age{Kind: k.Kind, Name: k.Name, AgeUs: ageOf(now, e.At)})
		}
	}
	return u
}

// Read decodes the bytes of a Whole, written at dated on the reader's clock.
func Read(dated int64, b []byte) (*State, error) {
	var u pb.Update
	if err := proto.Unmarshal(b, &u); err != nil {
		return nil, fmt.Errorf("decode a state: %w", err)
	}
	if u.Since != nil {
		return nil, errors.New("not a whole state: it has a since")
	}
	return (*State)(nil).Apply(dated, &u)
}
