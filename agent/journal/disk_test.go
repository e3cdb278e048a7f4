package journal

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// disk is what a journal says of it.
type disk []string

func (d *disk) observe(err error) {
	if err == nil {
		*d = append(*d, "good")
		return
	}
	*d = append(*d, "bad")
}

func TestAFolderThatCannotBeWrittenToCostsNoMoreThanMemoryHolds(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "records")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var said disk
		j := Open(Config{Dir: file, Observe: said.observe})
		j.put("leaf", attempt(1, "a"))
		time.Sleep(retryAfter)
		j.put("leaf", attempt(1, "b"))
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		j.put("leaf", attempt(1, "c"))
		time.Sleep(retryAfter)
		j.put("leaf", attempt(1, "d"))
		if diff := cmp.Diff(disk{"bad", "good"}, said); diff != "" {
			t.Error(diff)
		}
		if got := ids(j.all()); got != "1 2 3 4" {
			t.Errorf("read %s", got)
		}
		j.active.close()
		if j = Open(Config{Dir: file}); ids(j.all()) != "4" {
			t.Errorf("on disk are %s", ids(j.all()))
		}
		j.active.close()
	})
}

// A folder that is removed while it is written to is said, and made again.
func TestAFolderThatIsRemovedIsMadeAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "records")
	synctest.Test(t, func(t *testing.T) {
		var said disk
		j := Open(Config{Dir: dir, Observe: said.observe})
		j.put("leaf", attempt(1, "a"))
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		j.put("leaf", attempt(1, "b"))
		time.Sleep(retryAfter)
		j.put("leaf", attempt(1, "c"))
		if got := ids(j.all()); got != "2 3" {
			t.Errorf("read %s", got)
		}
		if diff := cmp.Diff(disk{"bad", "good"}, said); diff != "" {
			t.Error(diff)
		}
		j.active.close()
	})
}

func TestAFullDiskCostsNoMoreThanMemoryHolds(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	var said disk
	var why error
	j := Open(Config{Dir: t.TempDir(), Observe: func(err error) { said.observe(err); why = err }})
	j.put("leaf", attempt(1, "a"))
	j.active.close()
	j.active.file = full
	j.put("leaf", attempt(1, "b"))
	j.put("leaf", attempt(1, "c"))
	if got := ids(j.all()); got != "1 2 3" || !errors.Is(why, syscall.ENOSPC) {
		t.Errorf("read %s, said %v", got, why)
	}
	if diff := cmp.Diff(disk{"bad"}, said); diff != "" {
		t.Error(diff)
	}
}
