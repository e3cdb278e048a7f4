package journal

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// load finds the segments of the last process and cuts what a crash left of an entry. Names
// sort as numbers do.
func (j *Journal) load() error {
	files, err := os.ReadDir(j.config.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, f := range files {
		first, ok := numbered(f.Name())
		info, err := f.Info()
		if !ok || err != nil || !info.Mode().IsRegular() {
			continue
		}
		j.kept = append(j.kept, &segment{
			first: first, path: filepath.Join(j.config.Dir, f.Name()), size: info.Size(), written: info.ModTime().UnixMicro(),
		})
		j.next = max(j.next, first)
	}
	if len(j.kept) == 0 {
		return nil
	}
	last := j.kept[len(j.kept)-1]
	if err := j.resume(last); err != nil {
		return err
	}
	j.active = last
	j.bound()
	return nil
}

// resume goes on where the whole entries of a segment end.
func (j *Journal) resume(s *segment) error {
	f, err := os.OpenFile(s.path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	s.size = 0
	for at := 0; ; {
		r, n, err := entry(b[at:])
		if n == 0 || err != nil {
			break
		}
		if at += n; r != nil { // what is spoiled at the end is cut
			s.size, j.next = int64(at), max(j.next, r.Id+1)
		}
	}
	if err := f.Truncate(s.size); err != nil {
		return errors.Join(err, f.Close())
	}
	s.file = f
	return nil
}
