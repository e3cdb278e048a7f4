package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A module whose one test knows of one of two functions.
var small = map[string]string{
	"go.mod":    "module small\n\ngo 1.26\n",
	"a.go":      "package small\n\nfunc one() int { return 1 }\n\nfunc two() int { return 2 }\n",
	"a_test.go": "package small\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {\n\tif one() != 1 {\n\t\tt.Error()\n\t}\n}\n",
}

func TestOnlyABreakThatTheTestNoticesIsRed(t *testing.T) {
	folder := t.TempDir()
	for name, text := range small {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct{ test, old, new, says string }{
		"noticed":          {"TestOne", "return 1", "return 3", ""},
		"not noticed":      {"TestOne", "return 2", "return 3", "GREEN with the break"},
		"no code":          {"TestOne", "return 1", "return one", "does not compile"},
		"twice":            {"TestOne", "return", "return 0 +", "2 times"},
		"not there":        {"TestOne", "return 4", "return 5", "0 times"},
		"no such test":     {"TestTwo", "return 1", "return 3", "red without a break"},
		"only a beginning": {"TestOn", "return 1", "return 3", "red without a break"},
	} {
		t.Run(name, func(t *testing.T) {
			r := row{pkg: ".", name: c.test, file: "a.go", old: c.old, new: c.new}
			switch err := r.bite(t.Context(), folder); {
			case err == nil && c.says != "", err != nil && (c.says == "" || !strings.Contains(err.Error(), c.says)):
				t.Errorf("says %v, want %q", err, c.says)
			}
		})
	}
}
