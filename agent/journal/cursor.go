package journal

import (
	"bytes"
	"io"
	"os"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// cursor reads one record after the other. What is dropped before it came there is counted.
type cursor struct {
	journal *Journal
	segment *segment // nil: none yet
	reader  io.ReaderAt
	at      int64  // in the segment, after buffer
	buffer  []byte // read, and not given yet
	bad     bool   // the rest of the segment cannot be read

	number uint64 // of the next record; 0: any
	missed uint64
	since  int64 // segments written last before are passed over, µs since 1970
}

const readSize = 64 << 10

// next is the next record, or nil: there is none for now.
func (c *cursor) next() *pb.Record {
	for {
		if r := c.buffered(); r != nil {
			if c.number > 0 && r.Id > c.number {
				c.missed += r.Id - c.number
			}
			c.number = r.Id + 1
			return r
		}
		if !c.fill() && !c.advance() {
			return nil
		}
	}
}

// buffered takes a whole entry out of what was read, and passes over those that are spoiled.
func (c *cursor) buffered() *pb.Record {
	for {
		r, n, err := entry(c.buffer)
		if err != nil {
			c.buffer, c.bad = nil, true
		}
		c.buffer = c.buffer[n:]
		if r != nil || n == 0 {
			return r
		}
	}
}

// fill reads more of the segment; false: there is no more.
func (c *cursor) fill() bool {
	if c.segment == nil || c.bad {
		return false
	}
	c.journal.mu.Lock()
	size := c.segment.size
	c.journal.mu.Unlock()
	n := min(size-c.at, readSize)
	if n <= 0 {
		return false
	}
	b := make([]byte, len(c.buffer)+int(n))
	copy(b, c.buffer)
	if _, err := c.reader.ReadAt(b[len(c.buffer):], c.at); err != nil {
		c.bad = true
		return false
	}
	c.buffer, c.at = b, c.at+n
	return true
}

// advance goes to the next segment, if there is one.
func (c *cursor) advance() bool {
	s := c.following()
	if s == nil {
		return false
	}
	c.close()
	c.segment, c.at, c.buffer, c.bad = s, 0, nil, false
	if s.path == "" {
		c.reader = bytes.NewReader(s.memory)
		return true
	}
	f, err := os.Open(s.path)
	c.reader, c.bad = f, err != nil
	return true
}

func (c *cursor) following() *segment {
	c.journal.mu.Lock()
	defer c.journal.mu.Unlock()
	for _, s := range c.journal.kept {
		if (c.segment == nil || s.first >= c.segment.first && s != c.segment) && s.written >= c.since {
			return s
		}
	}
	return nil
}

func (c *cursor) close() {
	if f, ok := c.reader.(*os.File); ok && f != nil {
		_ = f.Close() // it was only read
	}
}

// more is closed when there is more to read than there was.
func (j *Journal) more() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.news
}
