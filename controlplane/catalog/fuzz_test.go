package catalog

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Whatever the bytes are: no panic, the same answer twice, and what passes is what the libraries take.
func FuzzCompile(f *testing.F) {
	stories, _ := filepath.Glob("testdata/*.story")
	samples, _ := filepath.Glob(sampleDir + "/*.hcl")
	for _, name := range append(stories, samples...) {
		content, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for part := range strings.SplitSeq(string(content), "\n\n") {
			f.Add([]byte(part), "x")
		}
	}
	f.Fuzz(func(t *testing.T, content []byte, value string) {
		src := &pb.Sources{
			Files:     []*pb.SourceFile{{Name: "a.hcl", Content: content}},
			Variables: []*pb.Variable{{Name: "x", Value: value}},
		}
		o := Options{Now: time.Unix(1_800_000_000, 0)}
		r := Compile(src, o)
		if d := cmp.Diff(r, Compile(src, o), protocmp.Transform()); d != "" {
			t.Errorf("two compilations differ: %s", d)
		}
		if !r.Failed() {
			taken(t, r.Resources)
		}
		formatted(t, content)
	})
}

func taken(t *testing.T, resources []*pb.Resource) {
	c, _, err := wire.Catalog(stateOf(resources), false)
	if err == nil {
		_, err = route.Compile(nil, c, nil, route.Local{})
	}
	if err != nil {
		t.Errorf("validation passed what a library refuses: %v", err)
	}
	for _, r := range resources {
		Describe(r)
	}
}

func formatted(t *testing.T, content []byte) {
	once, findings := Format("a.hcl", content)
	if len(findings) > 0 {
		return
	}
	twice, findings := Format("a.hcl", once)
	if len(findings) > 0 || !bytes.Equal(once, twice) {
		t.Errorf("formatted again: %v\n%q\nbecomes\n%q", findings, once, twice)
	}
}
