package journal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// attempt is a record of a call's attempt at an endpoint.
func attempt(call uint64, endpoint string) *pb.Record {
	return &pb.Record{TimeUs: time.Now().UnixMicro(), What: &pb.Record_Attempt{
		Attempt: &pb.Attempt{Call: call, Number: 1, Workload: "chat", Endpoint: endpoint, Outcome: "served"},
	}}
}

// put writes records of a leaf at once.
func (j *Journal) put(leaf string, records ...*pb.Record) {
	j.Put(leaf, &pb.Records{Records: records})
	j.write()
}

// all is every record that is kept.
func (j *Journal) all() []*pb.Record {
	c := cursor{journal: j}
	defer c.close()
	var all []*pb.Record
	for r := c.next(); r != nil; r = c.next() {
		all = append(all, r)
	}
	return all
}

func ids(records []*pb.Record) string {
	var all []string
	for _, r := range records {
		all = append(all, fmt.Sprint(r.Id))
	}
	return strings.Join(all, " ")
}

// segmentsOf are the names of a folder's segments.
func segmentsOf(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestWhatWasPutIsReadAgainAfterAnotherStart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "records")
	j := Open(Config{Dir: dir})
	j.put("leaf-1", attempt(1, "a"), &pb.Record{TimeUs: 5, What: &pb.Record_Event{Event: &pb.Event{Kind: "opened", Endpoint: "a"}}})
	j.active.close()
	j = Open(Config{Dir: dir})
	defer func() { j.active.close() }()
	j.put("leaf-2", attempt(2, "b"))
	got := j.all()
	want := []*pb.Record{attempt(1, "a"), {What: &pb.Record_Event{Event: &pb.Event{Kind: "opened", Endpoint: "a"}}}, attempt(2, "b")}
	for i, leaf := range []string{"leaf-1", "leaf-1", "leaf-2"} {
		want[i].Id, want[i].Leaf = uint64(i+1), leaf
	}
	if diff := cmp.Diff(want, got, protocmp.Transform(), protocmp.IgnoreFields(&pb.Record{}, "time_us")); diff != "" {
		t.Error(diff)
	}
	if n := len(segmentsOf(t, dir)); n != 1 {
		t.Errorf("%d segments, want the first to go on", n)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, segmentsOf(t, dir)[0]: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

func TestATornTailIsCut(t *testing.T) {
	whole := chunk{}
	for i := range uint64(3) {
		r := attempt(i, "a")
		r.Id = i + 1
		whole.add(r)
	}
	end := len(whole.bytes)
	third := end - end/3 // all entries are alike
	for name, c := range map[string]struct {
		bytes []byte
		want  string
	}{
		"within a body":       {whole.bytes[:end-1], "1 2 3"},
		"within a head":       {whole.bytes[:third+3], "1 2 3"},
		"zeros after the end": {append(whole.bytes[:end:end], make([]byte, 100)...), "1 2 3 4"},
		"zeros for a body":    {append(whole.bytes[:third+headSize:third+headSize], make([]byte, 100)...), "1 2 3"},
		"noise":               {append(whole.bytes[:end:end], "\xff\xff\xff\xff noise"...), "1 2 3 4"},
		"nothing":             {nil, "1"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%020d%s", 1, suffix)), c.bytes, 0o600); err != nil {
			t.Fatal(err)
		}
		j := Open(Config{Dir: dir, Observe: func(err error) { t.Errorf("%s: %v", name, err) }})
		j.put("leaf", attempt(9, "b"))
		got := j.all()
		if ids(got) != c.want || got[len(got)-1].GetAttempt().Endpoint != "b" {
			t.Errorf("%s: read %s, want %s", name, ids(got), c.want)
		}
		j.active.close()
	}
}

// A bit that flipped costs its record and no other, in the segment that grows as in those before.
func TestASpoiledRecordCostsItselfAlone(t *testing.T) {
	dir := t.TempDir()
	j := Open(Config{Dir: dir})
	j.put("leaf", attempt(1, "a"), attempt(2, "a"), attempt(3, "a"))
	path := j.active.path
	j.active.close()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1 // within the second
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	j = Open(Config{Dir: dir})
	j.put("leaf", attempt(4, "a"))
	if got := ids(j.all()); got != "1 3 4" {
		t.Errorf("read %s", got)
	}
	j.active.close()
}

func TestASegmentThatWentBadIsPassedOverAndCounted(t *testing.T) {
	dir := t.TempDir()
	j := Open(Config{Dir: dir})
	defer func() { j.active.close() }()
	for range 3 {
		j.put("leaf", attempt(1, "a"), attempt(1, "a"))
		j.active.close()
		j.active = nil // as large as it gets
	}
	files := segmentsOf(t, dir)
	b, err := os.ReadFile(files[1])
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1]++
	if err := os.WriteFile(files[1], b, 0o600); err != nil {
		t.Fatal(err)
	}
	c := cursor{journal: j}
	defer c.close()
	var got []*pb.Record
	for r := c.next(); r != nil; r = c.next() {
		got = append(got, r)
	}
	if ids(got) != "1 2 3 5 6" || c.missed != 1 {
		t.Errorf("read %s, missed %d", ids(got), c.missed)
	}
}

func TestTheOldestGivesWay(t *testing.T) {
	for _, c := range []struct {
		config Config
		most   int64
	}{{Config{Dir: t.TempDir(), Bytes: minBytes}, minBytes}, {Config{}, memoryBytes}} {
		j := Open(c.config)
		for i := range 20_000 {
			j.put("leaf", attempt(uint64(i), strings.Repeat("x", 100)))
		}
		all := j.all()
		first, last := all[0].Id, all[len(all)-1].Id
		if last != 20_000 || first < 10_000 || uint64(len(all)) != last-first+1 {
			t.Errorf("kept %d to %d, %d records", first, last, len(all))
		}
		var size int64
		for _, name := range segmentsOf(t, c.config.Dir) {
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			size += info.Size()
		}
		for _, s := range j.kept {
			size += int64(len(s.memory))
		}
		if size > c.most || size < c.most*3/4 {
			t.Errorf("%d bytes, want at most %d, and most of it", size, c.most)
		}
		j.active.close()
	}
}

func TestASlowReaderIsToldWhatItMissed(t *testing.T) {
	j := Open(Config{})
	j.put("leaf", attempt(1, "a"))
	c := cursor{journal: j}
	if r := c.next(); r.GetId() != 1 || c.next() != nil {
		t.Fatal("the first record")
	}
	for i := range 20_000 {
		j.put("leaf", attempt(uint64(i), strings.Repeat("x", 100)))
	}
	n := uint64(0)
	for r := c.next(); r != nil; r = c.next() {
		n++
	}
	if c.missed == 0 || n+c.missed != 20_000 {
		t.Errorf("read %d, missed %d, want 20,000 together", n, c.missed)
	}
}

func TestWhatIsTooMuchOrTooLargeIsCountedAndNobodyWaits(t *testing.T) {
	j := Open(Config{})
	big := attempt(1, strings.Repeat("x", maxRecord))
	j.Put("leaf", &pb.Records{Records: []*pb.Record{big, {TimeUs: 1}, nil}})
	for range maxQueue/(maxRecord/2) + 3 {
		j.Put("leaf", &pb.Records{Records: []*pb.Record{attempt(1, strings.Repeat("x", maxRecord/2))}})
	}
	if j.waiting > maxQueue {
		t.Errorf("%d bytes wait", j.waiting)
	}
	j.write()
	all := j.all()
	e := all[len(all)-1].GetEvent()
	if e.GetKind() != "dropped" || e.GetName() != "records" || e.GetCount() < 4 {
		t.Errorf("the last is %v", all[len(all)-1])
	}
}

func TestReadersAndTheWriterDoNotDisturbEachOther(t *testing.T) {
	j := Open(Config{Dir: t.TempDir(), Bytes: minBytes})
	ctx, stop := context.WithCancel(t.Context())
	var writer, readers sync.WaitGroup
	writer.Go(func() { j.Run(ctx) })
	for range 3 {
		readers.Go(func() {
			c := cursor{journal: j}
			defer c.close()
			var n, last uint64
			for last < 30_000 {
				more := j.more()
				for r := c.next(); r != nil; r = c.next() {
					if r.Id <= last || r.GetAttempt().GetEndpoint() != strings.Repeat("x", 100) {
						t.Errorf("record %d after %d: %v", r.Id, last, r)
					}
					n, last = n+1, r.Id
				}
				if last < 30_000 {
					<-more
				}
			}
			if n+c.missed < 30_000-8000 { // what had gone before it began is not missed
				t.Errorf("read %d, missed %d", n, c.missed)
			}
		})
	}
	for i := range 3000 {
		var m pb.Records
		for range 10 {
			m.Records = append(m.Records, attempt(uint64(i), strings.Repeat("x", 100)))
		}
		j.Put("leaf", &m)
	}
	readers.Wait()
	stop()
	writer.Wait()
}

func FuzzASegmentIsReadWithoutHarm(f *testing.F) {
	var c chunk
	c.add(attempt(1, "a"))
	c.add(attempt(2, "b"))
	f.Add(c.bytes)
	f.Add(c.bytes[:len(c.bytes)-1])
	f.Add(make([]byte, 64))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		for _, first := range []int{1, 1000} { // one is read, one is resumed
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%020d%s", first, suffix)), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		j := Open(Config{Dir: dir})
		defer func() { j.active.close() }()
		mark := attempt(1, "mark")
		j.put("leaf", mark)
		all := j.all()
		if n := len(all); n == 0 || !proto.Equal(all[n-1], mark) {
			t.Errorf("what is put after it is not read: %v", all)
		}
	})
}
