package test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/clientlib/dialect"
	"github.com/pointsman/pointsman/controlplane/catalog"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// TestValidateWarnsOfWhatTheLibraryDoesNotSpeak: the two have lists of their own, for the
// catalog may not import what sends.
func TestValidateWarnsOfWhatTheLibraryDoesNotSpeak(t *testing.T) {
	for _, name := range []string{"openai", "openai-compatible", "azure-openai", "anthropic", "vllm", "http", "gemini", "vertex", "bedrock", "grpc"} {
		for _, api := range []string{"openai.chat", "openai.responses", "openai.embeddings", "anthropic.messages", "http"} {
			d := dialect.Of(name)
			spoken := d != nil && d.Speaks(dialect.ParseAPI(api))
			source := fmt.Sprintf(spokenSource, name, api)
			result := catalog.Compile(&pb.Sources{Files: []*pb.SourceFile{{Name: "a.hcl", Content: []byte(source)}}}, catalog.Options{})
			warned := false
			for _, f := range result.Findings {
				warned = warned || strings.Contains(f.GetSummary(), "not spoken")
			}
			if warned == spoken {
				t.Errorf("dialect %s, API %s: spoken %v, warned of %v", name, api, spoken, warned)
			}
		}
	}
	for _, name := range dialect.Names() {
		if dialect.Of(name) == nil {
			t.Errorf("%s is a dialect's name and none", name)
		}
	}
}

const spokenSource = `
model "m" {
  artifact          = "m@1"
  context_window    = 1000
  max_output_tokens = 100
  price {
    input  = "0"
    output = "0"
  }
}
provider "p" {
  dialect  = %q
  base_url = "https://api.example"
}
endpoint "e" {
  provider = provider.p
  model    = model.m
  apis     = [%q]
}`
