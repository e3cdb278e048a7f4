package uplink

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	stateSuffix = ".state"
	tempSuffix  = ".tmp"
	maxStates   = 64 // of views; the ones written longest ago go first
)

// folder keeps states on disk, for one process at a time. What is in it decides where
// requests go, so nobody else may write there, and files of others are not read.
type folder struct {
	dir  string
	lock *os.File
}

func openFolder(dir string) (*folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("state folder: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("state folder: %w", err)
	}
	if !mine(info) {
		return nil, fmt.Errorf("state folder %s belongs to another user", dir)
	}
	if info.Mode().Perm() != 0o700 {
		if err := os.Chmod(dir, 0o700); err != nil {
			return nil, fmt.Errorf("state folder: %w", err)
		}
	}
	f, err := openLock(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("state folder: %w", err)
	}
	if err := take(f); err != nil {
		return nil, errors.Join(fmt.Errorf("state folder %s: %w", dir, err), f.Close())
	}
	d := &folder{dir: dir, lock: f}
	for _, left := range d.files(tempSuffix) { // by a crash
		_ = os.Remove(filepath.Join(dir, left.Name()))
	}
	return d, nil
}

// openLock opens the lock, also on a disk that takes nothing any more: what is on it can
// still be read.
func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOSPC) {
		return os.Open(path)
	}
	return f, err
}

// take locks f for this process and writes who holds it, if the disk has room.
func take(f *os.File) error {
	if err := lock(f); err != nil {
		holder, _ := io.ReadAll(io.LimitReader(f, 32))
		return fmt.Errorf("process %s uses it: stop that one, or give each process a folder of its own: %w", holder, err)
	}
	if f.Truncate(0) == nil {
		fmt.Fprint(f, os.Getpid())
	}
	return nil
}

// close gives the folder back; a nil folder is nothing to give.
func (d *folder) close() error {
	if d == nil {
		return nil
	}
	return d.lock.Close()
}

// any tells whether a state is kept.
func (d *folder) any() bool { return len(d.files(stateSuffix)) > 0 }

func (d *folder) files(suffix string) []os.FileInfo {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return nil
	}
	var infos []os.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), suffix) {
			infos = append(infos, info)
		}
	}
	return infos
}

// read gives a file's content and when it was written, if it is ours alone.
func (d *folder) read(name string) ([]byte, time.Time, error) {
	path := filepath.Join(d.dir, name)
	info, err := os.Lstat(path)
	if err != nil {
		return nil, time.Time{}, err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 || !mine(info) {
		return nil, time.Time{}, fmt.Errorf("%s is not this user's alone", path)
	}
	if info.Size() > maxMessage {
		return nil, time.Time{}, fmt.Errorf("%s has %d bytes, at most %d are a state", path, info.Size(), maxMessage)
	}
	body, err := os.ReadFile(path)
	return body, info.ModTime(), err
}

// write replaces a file, whole or not at all.
func (d *folder) write(name string, body []byte) error {
	f, err := os.CreateTemp(d.dir, "*"+tempSuffix) // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(d.dir, name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	d.prune()
	return d.sync()
}

func (d *folder) sync() error {
	f, err := os.Open(d.dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (d *folder) prune() {
	states := d.files(stateSuffix)
	slices.SortFunc(states, func(a, b os.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, old := range states[min(maxStates, len(states)):] {
		_ = os.Remove(filepath.Join(d.dir, old.Name())) // it is tried again after the next
	}
}
