package catalog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// The bounds of a catalog (control-plane.md: 10,000 endpoints, 32 MiB published).
const (
	maxBytes     = 32 << 20
	maxFiles     = 4096
	maxEndpoints = 10_000
)

var errTooLarge = fmt.Errorf("the catalog is larger than %d MiB", maxBytes>>20)

// Load reads the *.hcl files of a folder, by name. It does not look into folders below.
func Load(dir string) (*pb.Sources, error) {
	names, err := sourceNames(dir)
	if err != nil {
		return nil, fmt.Errorf("load catalog: %w", err)
	}
	src, left := &pb.Sources{}, int64(maxBytes)
	for _, name := range names {
		content, err := readAtMost(filepath.Join(dir, name), left)
		if err != nil {
			return nil, fmt.Errorf("load catalog: %w", err)
		}
		left -= int64(len(content))
		src.Files = append(src.Files, &pb.SourceFile{Name: name, Content: content})
	}
	return src, nil
}

func sourceNames(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".hcl") || strings.HasPrefix(name, ".") {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, name)) // what a link points to
		switch {
		case err != nil:
			return nil, err
		case info.Mode().IsRegular():
			names = append(names, name)
		case !info.IsDir(): // reading a pipe or a device might never end
			return nil, fmt.Errorf("%s is no regular file", filepath.Join(dir, name))
		}
	}
	switch {
	case len(names) == 0:
		return nil, fmt.Errorf("no *.hcl file in %s", dir)
	case len(names) > maxFiles:
		return nil, fmt.Errorf("%d files in %s; %d at most", len(names), dir, maxFiles)
	}
	return names, nil
}

func readAtMost(path string, n int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(f, n+1))
	if err == nil && int64(len(content)) > n {
		err = errTooLarge
	}
	return content, errors.Join(err, f.Close())
}

// bounded gives the files by name, or what is wrong with them as a whole. Sources that come over the
// wire have passed no Load.
func bounded(src *pb.Sources) ([]*pb.SourceFile, error) {
	files := slices.SortedFunc(slices.Values(src.GetFiles()), func(a, b *pb.SourceFile) int {
		return strings.Compare(a.GetName(), b.GetName())
	})
	if len(files) > maxFiles {
		return nil, fmt.Errorf("%d files; %d at most", len(files), maxFiles)
	}
	size := 0
	for i, f := range files {
		if i > 0 && f.GetName() == files[i-1].GetName() {
			return nil, fmt.Errorf("file %q is there twice", f.GetName())
		}
		size += len(f.GetContent())
	}
	for _, v := range src.GetVariables() {
		size += len(v.GetName()) + len(v.GetValue())
	}
	if size > maxBytes {
		return nil, errTooLarge
	}
	return files, nil
}
