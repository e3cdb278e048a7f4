package uplink

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// saved runs a link until it has kept a catalog, and gives the file.
func saved(t *testing.T, dir string, s *wire.State) string {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 1, inDir(dir))
		c, _ := r.joined(t)
		c.applied(t, 1, s)
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
	})
	files, err := filepath.Glob(filepath.Join(dir, "*"+stateSuffix))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, error %v", files, err)
	}
	return files[0]
}

// Rule 12: leaves write their state to disk and start from it when no parent answers.
func TestRule12AStartFromDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s := catalog(5, "a")
	saved(t, dir, s)
	synctest.Test(t, func(t *testing.T) {
		r := made(t, 2, inDir(dir))
		r.parents[0].closed.Store(true)
		r.parents[1].closed.Store(true)
		r.run(t)
		time.Sleep(5 * time.Second)
		if len(r.applied) != 0 {
			t.Fatal("offered before it was asked for")
		}
		for range 2 {
			if err := r.link.Load(); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if n := r.seen(Loaded); n != 1 {
				t.Fatalf("told %d times that it was offered", n)
			}
		}
		if diff := cmp.Diff([]uint64{5}, r.generations()); diff != "" || !r.applied[0].cold {
			t.Fatalf("cold %v, %s", r.applied[0].cold, diff)
		}
		for len(r.parents[1].streams) > 0 {
			<-r.parents[1].streams
		}
		r.parents[1].closed.Store(false)
		held := r.joins(t, 1).next(t).GetHello().Held
		if len(held) != 1 || held[0].Version.Generation != 5 || string(held[0].Digest) != string(s.Digest()) {
			t.Errorf("the next parent hears %v", held)
		}
	})
}

// An agent offers saved states at once, of every view as it is subscribed to.
func TestSavedStatesBelongToWhatWasWanted(t *testing.T) {
	dir := t.TempDir()
	agent := func(c *Config) { c.Dir, c.Hello = dir, &pb.Hello{Leaf: "agent", Relay: true} }
	a, b := wire.Selector{Workloads: []string{"a"}}, wire.Selector{Workloads: []string{"b"}}
	synctest.Test(t, func(t *testing.T) {
		r := made(t, 1, agent)
		r.link.Subscribe(1, Want{Selector: a, Identity: "alice"})
		r.link.Subscribe(2, Want{Selector: b, Identity: "bob"})
		r.run(t)
		c, _ := r.joined(t)
		c.next(t) // subscribes to the second
		c.applied(t, 1, catalog(1, "a"))
		c.applied(t, 2, catalog(1, "b"))
	})
	synctest.Test(t, func(t *testing.T) {
		r := made(t, 1, agent)
		if err := r.link.Load(); err != nil {
			t.Fatal(err)
		}
		r.run(t)
		r.link.Subscribe(1, Want{Selector: b, Identity: "bob"}) // numbers change over a restart
		synctest.Wait()
		r.link.Subscribe(2, Want{Selector: a, Identity: "mallory"})
		synctest.Wait()
		if len(r.applied) != 1 || r.applied[0].view != 1 {
			t.Fatalf("applied %+v, want bob's alone", r.applied)
		}
		if _, ok := r.applied[0].state.Lookup(wire.Key{Kind: pb.Kind_KIND_QUOTA, Name: "b"}); !ok {
			t.Error("it is another view's")
		}
	})
}

// Rule 12: folder 0700, file 0600, whole or not at all.
func TestRule12FilesAreTheOwnersAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(dir, "123"+tempSuffix)
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := saved(t, dir, catalog(5, "a"))
	for path, want := range map[string]os.FileMode{dir: 0o700, file: 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, want %v, error %v", path, info.Mode().Perm(), want, err)
		}
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("what a crash left is still there: %v", err)
	}
}

// Rule 12: one process per folder.
func TestRule12AFolderHasOneProcess(t *testing.T) {
	dir := t.TempDir()
	d, err := openFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = openFolder(dir)
	if err == nil || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) || !strings.Contains(err.Error(), "folder of its own") {
		t.Errorf("error %v", err)
	}
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
	if d, err = openFolder(dir); err != nil {
		t.Fatalf("given back: %v", err)
	}
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
}

// A file that cannot be used is passed over with an event, and never fatal.
func TestASavedStateThatCannotBeUsedIsIgnored(t *testing.T) {
	for name, spoil := range map[string]func(file string) error{
		"cut short": func(file string) error { return os.Truncate(file, 10) },
		"empty":     func(file string) error { return os.Truncate(file, 0) },
		"foreign":   func(file string) error { return os.WriteFile(file, []byte("something else"), 0o600) },
		"of the fleet track": func(file string) error {
			b, err := proto.Marshal(wire.Whole(0, 0, fleet(1, 1, 0, "e")))
			if err != nil {
				return err
			}
			return os.WriteFile(file, b, 0o600)
		},
		"open to others": func(file string) error { return os.Chmod(file, 0o644) },
		"a link": func(file string) error {
			if err := os.Rename(file, file+"2"); err != nil {
				return err
			}
			return os.Symlink(file+"2", file)
		},
		"too long": func(file string) error { return os.Truncate(file, maxMessage+1) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := spoil(saved(t, dir, catalog(5, "a"))); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				r := started(t, 1, inDir(dir))
				if err := r.link.Load(); err != nil {
					t.Fatal(err)
				}
				c, hello := r.joined(t)
				c.applied(t, 1, catalog(5, "a"))
				if len(hello.Held) != 0 || r.seen(Ignored) != 1 || len(r.generations()) != 1 {
					t.Errorf("held %v, events %v, applied %v", hello.Held, r.events, r.generations())
				}
			})
		})
	}
}

func TestLoadWithoutAnythingSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if err := started(t, 1).link.Load(); !errors.Is(err, ErrNothingSaved) {
			t.Errorf("without a folder: %v", err)
		}
		if err := started(t, 1, inDir(t.TempDir())).link.Load(); !errors.Is(err, ErrNothingSaved) {
			t.Errorf("with an empty one: %v", err)
		}
	})
}

// Overrides grow older while nobody runs.
func TestASavedStateIsDatedWhenItWasWritten(t *testing.T) {
	dir := t.TempDir()
	file := saved(t, dir, state(pb.Track_TRACK_CATALOG, version(5), pb.Kind_KIND_QUOTA, -1000, "a"))
	synctest.Test(t, func(t *testing.T) {
		r := made(t, 1, inDir(dir))
		if err := os.Chtimes(file, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
		if err := r.link.Load(); err != nil {
			t.Fatal(err)
		}
		r.run(t)
		synctest.Wait()
		row, _ := r.applied[0].state.Lookup(wire.Key{Kind: pb.Kind_KIND_QUOTA, Name: "a"})
		if age := r.now() - row.At; age < time.Hour.Microseconds() || age > time.Hour.Microseconds()+1e6 {
			t.Errorf("it is %d µs old", age)
		}
	})
}

// Rule 7: a nack is for bad content only; a disk error is not one.
func TestRule7ADiskErrorIsNoNack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 1, inDir(dir))
		c, _ := r.joined(t)
		if err := os.Rename(dir, dir+"-gone"); err != nil {
			t.Fatal(err)
		}
		c.applied(t, 1, catalog(5, "a"))
		c.quiet(t, 5*time.Second)
		if r.seen(Unsaved) != 1 || r.seen(Applied) != 1 {
			t.Errorf("events %v", r.events)
		}
		if err := os.Rename(dir+"-gone", dir); err != nil {
			t.Fatal(err)
		}
		c.applied(t, 1, catalog(6, "a"))
		c.quiet(t, 5*time.Second)
		if r.seen(Saved) != 1 {
			t.Errorf("events %v", r.events)
		}
	})
}

// A disk that heals is written to without another publish, and said to have failed once.
func TestADiskThatHealsGetsTheNewestState(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	synctest.Test(t, func(t *testing.T) {
		r := started(t, 1, inDir(dir))
		c, _ := r.joined(t)
		if err := os.Rename(dir, dir+"-gone"); err != nil {
			t.Fatal(err)
		}
		c.applied(t, 1, catalog(5, "a"))
		c.applied(t, 1, catalog(6, "a"))
		time.Sleep(5 * saveAgain / 2)
		if r.seen(Unsaved) != 1 || r.seen(Saved) != 0 {
			t.Errorf("events %v", r.events)
		}
		if err := os.Rename(dir+"-gone", dir); err != nil {
			t.Fatal(err)
		}
		time.Sleep(saveAgain)
		if r.seen(Saved) != 1 || r.events[len(r.events)-1].Version.Generation != 6 {
			t.Errorf("events %v", r.events)
		}
	})
}

// Rule 12: a disk that takes nothing any more still gives what is on it.
func TestRule12AFullDiskIsReadFrom(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip("there is no disk that is full: ", err)
	}
	defer full.Close()
	if err := take(full); err != nil {
		t.Errorf("a process's number could not be written, and nothing is read: %v", err)
	}
}

func TestOldStatesArePruned(t *testing.T) {
	d, err := openFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxStates + 3 {
		name := strconv.Itoa(i) + stateSuffix
		if err := d.write(name, []byte("x")); err != nil {
			t.Fatal(err)
		}
		when := time.Unix(int64(i), 0)
		if err := os.Chtimes(filepath.Join(d.dir, name), when, when); err != nil {
			t.Fatal(err)
		}
	}
	d.prune()
	if n := len(d.files(stateSuffix)); n != maxStates {
		t.Errorf("%d states are kept", n)
	}
	if _, err := os.Stat(filepath.Join(d.dir, "2"+stateSuffix)); !os.IsNotExist(err) {
		t.Error("the oldest are still there")
	}
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
}
