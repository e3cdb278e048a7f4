// Package journal keeps what libraries recorded: attempts and events, the newest of them, in
// segments on disk that are only ever appended to. It serves them to whoever asks.
//
// It judges nothing and passes nothing on. A disk that is full or cannot be written to costs
// records and nothing else: a few are kept in memory then. The agent runs it.
//
//	Put ── queue ──► Run ──► segments         one writer
//	                          │ │ │
//	                          cursors         any number of readers, each at its own pace
package journal

import (
	"context"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Config says where records are kept, and how much of them.
type Config struct {
	Dir     string          // a folder of its own, for one process at a time; empty: in memory only
	Bytes   int64           // of disk, at most; 0: DefaultBytes
	Observe func(err error) // the disk does not take records; nil: it does again. Optional
}

// The bounds, in bytes.
const (
	DefaultBytes = 64 << 20
	minBytes     = 1 << 20
	memoryBytes  = 1 << 20 // of what the disk does not take
	maxQueue     = 4 << 20 // wait to be written
	maxWrite     = 64 << 10
	parts        = 8 // that a bound is divided into: the oldest goes as a whole
)

const retryAfter = time.Minute // the disk

// Journal keeps records. Make it with Open, then run it.
type Journal struct {
	config  Config
	wake    chan struct{} // something waits to be written
	serving chan struct{} // a place for each stream

	// The writer's alone.
	active  *segment  // nil: none yet
	next    uint64    // number of a record
	failed  bool      // the disk
	retryAt time.Time // it

	mu       sync.Mutex    // guards what follows, and the sizes of segments
	kept     []*segment    // by number
	news     chan struct{} // closed when there is more to read
	queue    []*pb.Record
	waiting  int   // bytes of it
	overflow int64 // records that did not fit
}

// Open finds what is kept. It never fails: what is wrong with the disk is observed.
func Open(c Config) *Journal {
	if c.Bytes == 0 {
		c.Bytes = DefaultBytes
	}
	c.Bytes = max(c.Bytes, minBytes)
	j := &Journal{
		config: c, wake: make(chan struct{}, 1), serving: make(chan struct{}, maxStreams), next: 1, news: make(chan struct{}),
	}
	if c.Dir != "" {
		if err := j.load(); err != nil {
			j.fail(err)
		}
	}
	return j
}

// Put takes records of a leaf over. It never blocks: what the writer is too slow for is
// counted and left out.
func (j *Journal) Put(leaf string, m *pb.Records) {
	j.mu.Lock()
	for _, r := range m.GetRecords() {
		size := proto.Size(r)
		switch {
		case r.GetWhat() == nil: // of a later version
		case size > maxRecord || j.waiting+size > maxQueue:
			j.overflow++
		default:
			r.Leaf = leaf
			j.queue, j.waiting = append(j.queue, r), j.waiting+size
		}
	}
	j.mu.Unlock()
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// Run writes until ctx ends, and then what waits.
func (j *Journal) Run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-j.wake:
			j.write()
		}
	}
	j.write()
	j.active.close()
}

// write numbers and writes what waits.
func (j *Journal) write() {
	j.mu.Lock()
	queue, lost := j.queue, j.overflow
	j.queue, j.waiting, j.overflow = nil, 0, 0
	j.mu.Unlock()
	if lost > 0 {
		queue = append(queue, dropped(lost))
	}
	var c chunk
	for _, r := range queue {
		r.Id = j.next
		j.next++
		c.add(r)
		if len(c.bytes) >= maxWrite {
			j.append(&c)
			c = chunk{}
		}
	}
	if len(c.bytes) > 0 {
		j.append(&c)
	}
}

func dropped(n int64) *pb.Record {
	e := &pb.Event{Kind: "dropped", Name: "records", Count: n}
	return &pb.Record{TimeUs: time.Now().UnixMicro(), What: &pb.Record_Event{Event: e}}
}

// append writes a chunk: to memory when the disk does not take it.
func (j *Journal) append(c *chunk) {
	again := j.failed && !time.Now().Before(j.retryAt)
	if again || !j.active.fits(c, j.part(j.active)) {
		j.roll(c)
	}
	if err := j.active.append(c); err != nil {
		j.fail(err)
		j.roll(c)
		_ = j.active.append(c) // memory takes it
	}
	if j.failed && j.active.path != "" {
		j.failed = false
		j.observe(nil)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.active.size += int64(len(c.bytes))
	j.active.written = time.Now().UnixMicro()
	close(j.news)
	j.news = make(chan struct{})
}

// part is how large a segment grows.
func (j *Journal) part(s *segment) int64 {
	if s != nil && s.path == "" {
		return memoryBytes / parts
	}
	return j.config.Bytes / parts
}

// roll begins a segment, on disk unless that fails.
func (j *Journal) roll(c *chunk) {
	s := j.create(c.first)
	if s == nil {
		s = inMemory(c, memoryBytes/parts)
	}
	j.active.close()
	j.active = s
	j.mu.Lock()
	if n := len(j.kept); n > 0 && j.kept[n-1].size == 0 {
		j.kept[n-1].remove()
		j.kept = j.kept[:n-1]
	}
	j.kept = append(j.kept, s)
	j.mu.Unlock()
	j.bound()
}

// create makes a file, or nil.
func (j *Journal) create(first uint64) *segment {
	if j.config.Dir == "" || j.failed && time.Now().Before(j.retryAt) {
		return nil
	}
	s, err := createFile(j.config.Dir, first)
	if err != nil {
		j.fail(err)
		return nil
	}
	return s
}

// fail goes on in memory; that the disk fails is said once.
func (j *Journal) fail(err error) {
	j.retryAt = time.Now().Add(retryAfter)
	if !j.failed {
		j.failed = true
		j.observe(err)
	}
}

func (j *Journal) observe(err error) {
	if j.config.Observe != nil {
		j.config.Observe(err)
	}
}

// bound drops the oldest segments, so that the active one has room to grow.
func (j *Journal) bound() {
	j.mu.Lock()
	defer j.mu.Unlock()
	disk, memory := j.config.Bytes-j.part(nil), int64(memoryBytes-memoryBytes/parts)
	kept := make([]*segment, 0, len(j.kept))
	for i := len(j.kept) - 1; i >= 0; i-- {
		s := j.kept[i]
		room := &disk
		if s.path == "" {
			room = &memory
		}
		if s != j.active {
			*room -= s.size
		}
		if *room < 0 {
			s.remove()
			continue
		}
		kept = append(kept, s)
	}
	slices.Reverse(kept)
	j.kept = kept
}
