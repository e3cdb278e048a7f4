package scenario

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever a file holds, it is a scenario that can be begun, or what is wrong with it has a place.
func FuzzAScenarioLoadsOrItsFaultsHavePlaces(f *testing.F) {
	addStories(f)
	catalogs, err := filepath.Abs("testdata")
	if err != nil {
		f.Fatal(err)
	}
	nowhere := func(string) (io.ReadCloser, error) { return nil, os.ErrNotExist }
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "a.hcl")
		text = strings.ReplaceAll(text, "CATALOGS", catalogs)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Load(path, Options{Open: nowhere})
		var found *Error
		switch {
		case err == nil:
			if _, err := s.Scenario.Traffic(1); err != nil {
				t.Error(err)
			}
		case !errors.As(err, &found):
			t.Errorf("without findings: %v", err)
		default:
			for _, f := range found.Findings {
				if f.GetFile() == "" || f.GetLine() < 1 || f.GetSummary() == "" {
					t.Errorf("without a place: %v", f)
				}
			}
		}
	})
}

// addStories begins with what the stories ask.
func addStories(f *testing.F) {
	stories, err := filepath.Glob("testdata/*.story")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range stories {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		base, _, _ := strings.Cut(strings.TrimPrefix(string(text), "base\n"), "----\n")
		for block := range strings.SplitSeq(string(text), "\n\n") {
			question, _, _ := strings.Cut(block, "----\n")
			_, added, _ := strings.Cut(question, "\n")
			f.Add(added + base)
		}
	}
}
