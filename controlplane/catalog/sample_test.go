package catalog

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	deployDir  = "../../deploy"
	docsDir    = "../../docs"
	scenarios  = deployDir + "/examples/scenarios" // their catalogs are in folders below
	sampleDir  = deployDir + "/examples/catalog"
	minimalDir = deployDir + "/examples/minimal"
)

// sampleDay is before what the samples say expires.
var sampleDay = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

func TestEveryFolderOfHCLIsAFormattedValidCatalog(t *testing.T) {
	for _, dir := range foldersOf(t, ".hcl", deployDir, docsDir) {
		src := load(t, dir)
		checkFormatted(t, src)
		if filepath.Clean(dir) == filepath.Clean(scenarios) {
			continue
		}
		if r := compileSample(src); r.Failed() {
			t.Errorf("%s:\n%s", dir, findings(r.Findings, true))
		}
	}
}

// The blocks of a page are one catalog together with the minimal sample.
func TestEveryPagesHCLIsFormattedAndValidBesideTheMinimalSample(t *testing.T) {
	checked := 0
	for _, dir := range foldersOf(t, ".md", docsDir) {
		pages, err := filepath.Glob(filepath.Join(dir, "*.md"))
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			blocks := blocksOf(t, page)
			checkFormatted(t, blocks)
			checked += len(blocks.Files)
			blocks.Files = append(blocks.Files, load(t, minimalDir).Files...)
			if r := compileSample(blocks); r.Failed() {
				t.Errorf("%s:\n%s", page, findings(r.Findings, true))
			}
		}
	}
	if checked == 0 {
		t.Error("no page has a block of HCL: is it found?")
	}
}

func TestMinimalSampleHasNoWarning(t *testing.T) {
	if r := compileSample(load(t, minimalDir)); len(r.Findings) > 0 {
		t.Error(findings(r.Findings, false))
	}
}

func TestSampleHasEveryKindOfBlock(t *testing.T) {
	if r := compileSample(load(t, sampleDir)); len(r.Resources) != 17 {
		t.Errorf("%d resources", len(r.Resources))
	}
	declared := newCompiler()
	bodies, _ := declared.parse(load(t, sampleDir).Files)
	declared.declare(bodies)
	for kind := range blockTypes {
		if kind != "locals" && len(declared.blocks[kind]) == 0 {
			t.Errorf("no %s", kind)
		}
	}
}

// The bytes of a revision depend on what is said, not on which file says it.
func TestFilesInAnyOrderCompileToTheSameBytes(t *testing.T) {
	src := load(t, sampleDir)
	want := Compile(src, Options{})
	slices.Reverse(src.Files)
	for i, f := range src.Files {
		f.Name = fmt.Sprintf("%d.hcl", i)
	}
	got := Compile(src, Options{})
	if d := cmp.Diff(want.Resources, got.Resources, protocmp.Transform()); d != "" {
		t.Error(d)
	}
	slices.Reverse(got.Resources)
	if !bytes.Equal(Digest(want.Resources), Digest(got.Resources)) {
		t.Error("the digest depends on the order")
	}
}

func load(t *testing.T, dir string) *pb.Sources {
	t.Helper()
	src, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func compileSample(src *pb.Sources) *Result { return Compile(src, Options{Now: sampleDay}) }

func checkFormatted(t *testing.T, src *pb.Sources) {
	t.Helper()
	for _, f := range src.Files {
		out, list := Format(f.Name, f.Content)
		if len(list) > 0 || !bytes.Equal(out, f.Content) {
			t.Errorf("%s is not formatted: %v\n%s", f.Name, list, out)
		}
	}
}

// foldersOf are the folders at and below roots that hold files of a kind.
func foldersOf(t *testing.T, suffix string, roots ...string) (dirs []string) {
	t.Helper()
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() && strings.HasSuffix(path, suffix) {
				dirs = append(dirs, filepath.Dir(path))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

var blockOfHCL = regexp.MustCompile("(?ms)^```hcl\n(.*?)^```$")

// blocksOf are the blocks of HCL on a page, each a file.
func blocksOf(t *testing.T, page string) *pb.Sources {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	src := &pb.Sources{}
	for i, m := range blockOfHCL.FindAllSubmatch(text, -1) {
		src.Files = append(src.Files, &pb.SourceFile{Name: fmt.Sprintf("%s, block %d", filepath.Base(page), i+1), Content: m[1]})
	}
	return src
}
