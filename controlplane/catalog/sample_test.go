package catalog

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
)

const sampleDir = "../../deploy/examples/catalog"

func TestSampleIsValidAndFormatted(t *testing.T) {
	src, err := Load(sampleDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range src.Files {
		out, findings := Format(f.Name, f.Content)
		if len(findings) > 0 || !bytes.Equal(out, f.Content) {
			t.Errorf("%s is not formatted: %v\n%s", f.Name, findings, out)
		}
	}
	r := Compile(src, Options{Now: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)})
	if r.Failed() {
		t.Error(findings(r.Findings, true))
	}
	if len(r.Resources) != 17 {
		t.Errorf("%d resources", len(r.Resources))
	}
}

// The bytes of a revision depend on what is said, not on which file says it.
func TestFilesInAnyOrderCompileToTheSameBytes(t *testing.T) {
	src, err := Load(sampleDir)
	if err != nil {
		t.Fatal(err)
	}
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
