package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	mostDrain   = 4 * time.Hour // node_service.proto
	mostDrains  = 1000
	drainsFile  = "drains.json"
	drainsBytes = 1 << 20
)

// drains are the endpoints that operators took out on this node alone. They add caution to
// what the control plane says and never take any away.
type drains struct {
	file string // empty: they end with the process
	wall func() time.Time
	now  func() int64

	mu  sync.Mutex
	all map[string]drain // by endpoint
}

// drain is one of them, as it is kept.
type drain struct {
	Endpoint string    `json:"endpoint"`
	Actor    string    `json:"actor"`
	Reason   string    `json:"reason"`
	Set      time.Time `json:"set"`
	Until    time.Time `json:"until"`

	setAt, until int64 // on this process's clock, µs
}

func newDrains(now func() int64) *drains {
	return &drains{wall: time.Now, now: now, all: map[string]drain{}}
}

// open keeps them in a folder from now on, and reads those of another run that have not ended.
// Its error is of a file that cannot be used: none of it stands then.
func (d *drains) open(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.file = filepath.Join(dir, drainsFile)
	info, err := os.Stat(d.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Size() > drainsBytes:
		return fmt.Errorf("%s: %d bytes, at most %d", d.file, info.Size(), drainsBytes)
	}
	text, err := os.ReadFile(d.file)
	if err != nil {
		return err
	}
	var all []drain
	if err := json.Unmarshal(text, &all); err != nil {
		return fmt.Errorf("%s: %w", d.file, err)
	}
	for _, v := range all[:min(len(all), mostDrains)] {
		d.recall(v)
	}
	return nil
}

// recall takes one of another run. However the wall clock went, none holds for longer than four
// hours from now.
func (d *drains) recall(v drain) {
	left := min(v.Until.Sub(d.wall()), mostDrain)
	if left <= 0 || v.Endpoint == "" {
		return
	}
	v.until = d.now() + left.Microseconds()
	v.setAt = min(d.now()-max(d.wall().Sub(v.Set), 0).Microseconds(), -1)
	d.all[v.Endpoint] = v
}

var errTooMany = fmt.Errorf("%d endpoints are drained on this node already: drain the node's programs instead", mostDrains)

// set drains an endpoint for so long. Its error says that it will not outlive the process.
func (d *drains) set(v drain, last time.Duration) (kept, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expire()
	if _, again := d.all[v.Endpoint]; !again && len(d.all) >= mostDrains {
		return nil, errTooMany
	}
	v.Set = d.wall()
	v.Until = v.Set.Add(last)
	v.setAt, v.until = d.now(), d.now()+last.Microseconds()
	d.all[v.Endpoint] = v
	return d.save(), nil
}

// unset ends one; false: there is none.
func (d *drains) unset(endpoint string) (kept error, had bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expire()
	if _, had = d.all[endpoint]; !had {
		return nil, false
	}
	delete(d.all, endpoint)
	return d.save(), true
}

// list is what holds now, by endpoint.
func (d *drains) list() []drain {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expire()
	out := make([]drain, 0, len(d.all))
	for _, v := range d.all {
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b drain) int { return strings.Compare(a.Endpoint, b.Endpoint) })
	return out
}

func (d *drains) expire() {
	now := d.now()
	for name, v := range d.all {
		if now >= v.until {
			delete(d.all, name)
		}
	}
}

// next is when the first one ends; 0: none does.
func (d *drains) next() (at int64) {
	for _, v := range d.list() {
		if at == 0 || v.until < at {
			at = v.until
		}
	}
	return at
}

// save writes them beside the states: whole or not at all, for this user alone.
func (d *drains) save() error {
	if d.file == "" {
		return nil
	}
	all := make([]drain, 0, len(d.all))
	for _, v := range d.all {
		all = append(all, v)
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return replace(d.file, text)
}

func replace(file string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".drains-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// over lays the drains over a catalog: over the endpoints that are in it, where no drain of the
// control plane lasts longer.
func (d *drains) over(s *wire.State) *wire.State {
	all := d.list()
	if s == nil || len(all) == 0 {
		return s
	}
	entries := map[wire.Key]wire.Entry{}
	for k, e := range s.All() {
		entries[k] = e
	}
	added := false
	for _, v := range all {
		if _, ok := s.Lookup(wire.Key{Kind: pb.Kind_KIND_ENDPOINT, Name: route.Declared(v.Endpoint)}); !ok {
			continue
		}
		k, e, err := v.entry()
		if err != nil {
			continue // a text that cannot be encoded was not taken
		}
		if theirs, ok := entries[k]; ok && wire.OverrideEnds(theirs) >= v.until {
			continue
		}
		entries[k], added = e, true
	}
	if !added {
		return s
	}
	return wire.NewState(s.Track(), s.Version(), entries)
}

// override is what it is on the wire.
func (v *drain) override() *pb.Override {
	return &pb.Override{
		Endpoint: v.Endpoint, What: &pb.Override_Drain{Drain: &pb.Drain{}},
		Actor: v.Actor, Reason: v.Reason, DurationUs: v.until - v.setAt,
	}
}

func (v *drain) entry() (wire.Key, wire.Entry, error) {
	r, err := wire.Override(v.override())
	if err != nil {
		return wire.Key{}, wire.Entry{}, err
	}
	return wire.Key{Kind: r.Kind, Name: r.Name}, wire.Entry{Body: r.Body, Hash: wire.HashOf(r.Body), At: v.setAt}, nil
}
