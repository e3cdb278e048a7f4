package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestADifferenceShowsThreeLinesAround(t *testing.T) {
	lines := strings.Split("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20", " ")
	before := strings.Join(lines, "\n") + "\n"
	for _, tc := range []struct{ name, after, want string }{
		{"one line changed", strings.Replace(before, "\n5\n", "\nfive\n", 1), "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"},
		{"the first taken away", strings.TrimPrefix(before, "1\n"), "@@ -1,4 +1,3 @@\n-1\n 2\n 3\n 4\n"},
		{"one put in at the end", before + "21\n", "@@ -18,3 +18,4 @@\n 18\n 19\n 20\n+21\n"},
		{"the last end of line gone", strings.TrimSuffix(before, "\n"), "@@ -17,4 +17,4 @@\n 17\n 18\n 19\n-20\n+20\n\\ no newline at the end\n"},
		{
			"two near ones share a hunk", strings.NewReplacer("\n5\n", "\nfive\n", "\n9\n", "\nnine\n").Replace(before),
			"@@ -2,11 +2,11 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n-9\n+nine\n 10\n 11\n 12\n",
		},
		{
			"two far ones do not", strings.NewReplacer("\n3\n", "\nthree\n", "\n17\n", "\n").Replace(before),
			"@@ -1,6 +1,6 @@\n 1\n 2\n-3\n+three\n 4\n 5\n 6\n@@ -14,7 +14,6 @@\n 14\n 15\n 16\n-17\n 18\n 19\n 20\n",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff("--- f\n+++ f\n"+tc.want, unified("f", before, tc.after)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAReplacedFileIsWholeAndKeepsItsMode(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "f"), filepath.Join(dir, "link")
	if err := os.WriteFile(path, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	info, statErr := os.Stat(path)
	if err != nil || statErr != nil || string(data) != "new" || info.Mode().Perm() != 0o640 {
		t.Errorf("%q %v %v %v", data, info.Mode(), err, statErr)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v %v", entries, err)
	}
}
