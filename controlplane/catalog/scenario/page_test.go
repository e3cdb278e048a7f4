package scenario

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/pointsman/pointsman/controlplane/catalog"
	"github.com/pointsman/pointsman/controlplane/sim/rival"
)

var blockOfPage = regexp.MustCompile("(?ms)^```hcl scenario\n(.*?)^```$")

// The scenario of the guide stands beside the minimal sample.
func TestThePagesScenarioIsFormattedAndLoads(t *testing.T) {
	page, err := os.ReadFile("../../../docs/simulator.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := blockOfPage.FindAllSubmatch(page, -1)
	if len(blocks) == 0 {
		t.Fatal("the page has no scenario: is it found?")
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "catalog"), os.DirFS("../../../deploy/examples/minimal")); err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks {
		if after, findings := catalog.Format("page.hcl", b[1]); len(findings) > 0 || !bytes.Equal(after, b[1]) {
			t.Errorf("not formatted: %v\n%s", findings, after)
		}
		path := filepath.Join(dir, "page.hcl")
		if err := os.WriteFile(path, b[1], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path, Options{}); err != nil {
			t.Error(err)
		}
	}
}

func TestThePageNamesAllThatAScenarioMayChooseFrom(t *testing.T) {
	page, err := os.ReadFile("../../../docs/simulator.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Concat(ofOwn, ofHosted, slices.Collect(maps.Keys(kinds)), rival.Names()) {
		if !bytes.Contains(page, []byte("`"+name+"`")) {
			t.Errorf("the page does not name %s", name)
		}
	}
}
