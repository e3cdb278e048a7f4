package journal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// An entry is its length and its checksum, 32 bits each, and a record. A length of 0 is none:
// a crash may leave zeros behind.
const (
	headSize  = 8
	maxRecord = 64 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// chunk is whole entries that are written at once.
type chunk struct {
	first uint64 // number of its first record
	bytes []byte
}

func (c *chunk) add(r *pb.Record) {
	if len(c.bytes) == 0 {
		c.first = r.Id
	}
	at := len(c.bytes)
	b, err := proto.MarshalOptions{}.MarshalAppend(append(c.bytes, make([]byte, headSize)...), r)
	if err != nil {
		return // a text that is not valid UTF-8: it came over no wire
	}
	body := b[at+headSize:]
	binary.LittleEndian.PutUint32(b[at:], uint32(len(body)))
	binary.LittleEndian.PutUint32(b[at+4:], crc32.Checksum(body, castagnoli))
	c.bytes = b
}

// entry is the first record of b and what it takes. 0 bytes: b holds no whole entry yet; with
// an error: and never will. A record that is spoiled is nil, and takes what it says.
func entry(b []byte) (*pb.Record, int, error) {
	if len(b) < headSize {
		return nil, 0, nil
	}
	size := int(binary.LittleEndian.Uint32(b))
	if size == 0 || size > maxEntry {
		return nil, 0, fmt.Errorf("an entry of %d bytes", size)
	}
	if len(b) < headSize+size {
		return nil, 0, nil
	}
	body := b[headSize : headSize+size]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(b[4:]) {
		return nil, headSize + size, nil
	}
	r := &pb.Record{}
	if proto.Unmarshal(body, r) != nil {
		return nil, headSize + size, nil
	}
	return r, headSize + size, nil
}

const maxEntry = maxRecord + 1<<10 // with its number and its leaf

// segment is a part of the journal: a file, or memory.
type segment struct {
	first  uint64   // number of its first record
	path   string   // empty: in memory
	file   *os.File // the writer's
	memory []byte   // all its room

	size    int64 // of whole entries
	written int64 // when last, µs since 1970
}

func inMemory(c *chunk, room int64) *segment {
	return &segment{first: c.first, memory: make([]byte, max(room, int64(len(c.bytes))))}
}

const suffix = ".records"

func createFile(dir string, first uint64) (*segment, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, fmt.Sprintf("%020d%s", first, suffix))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return &segment{first: first, path: path, file: f}, nil
}

// numbered is the number of a segment's first record, as its file is named.
func numbered(name string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, ok && err == nil
}

func (s *segment) fits(c *chunk, most int64) bool {
	return s != nil && s.size+int64(len(c.bytes)) <= max(most, int64(len(s.memory)))
}

// append writes after what is whole; of a chunk that fails nothing stays.
func (s *segment) append(c *chunk) error {
	if s.path == "" {
		copy(s.memory[s.size:], c.bytes)
		return nil
	}
	if _, err := os.Stat(s.path); err != nil {
		return err // somebody removed it: what is written would be read by nobody
	}
	if _, err := s.file.WriteAt(c.bytes, s.size); err != nil {
		_ = s.file.Truncate(s.size) // what is beyond is not read anyway
		return err
	}
	return nil
}

func (s *segment) close() {
	if s != nil && s.file != nil {
		_ = s.file.Close() // nothing is buffered
		s.file = nil
	}
}

// remove takes its file away; who reads it still can.
func (s *segment) remove() {
	if s.path != "" {
		_ = os.Remove(s.path) // it is looked for again at the next start
	}
}
