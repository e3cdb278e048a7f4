package catalog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// large has so many endpoints, over 20 models, and so many workloads of 20 endpoints each.
func large(endpoints, workloads int) *pb.Sources {
	var b strings.Builder
	b.WriteString(`provider "p" {
  dialect  = "openai"
  base_url = "https://p.example/v1"
}
policy "default" {
  breaker { window = "4s" }
  attempts { max = 4 }
}
`)
	for i := range 20 {
		fmt.Fprintf(&b, `model "m-%d" {
  use               = [policy.default]
  artifact          = "m-%d@1"
  capabilities      = ["chat", "stream", "tools"]
  context_window    = 128000
  max_output_tokens = 8192
  price {
    input  = "2.00"
    output = "8.00"
  }
}
quota "q-%d" { tokens_per_minute = 1000000 }
`, i, i, i)
	}
	for i := range endpoints {
		fmt.Fprintf(&b, `endpoint "e-%d" {
  provider    = provider.p
  model       = model.m-%d
  wire_model  = "m-%d"
  apis        = ["openai.chat", "openai.responses"]
  region      = "eu/west"
  quotas      = [quota.q-%d]
  credential  = "key-%d"
  compliance  = ["zero-retention"]
  weight      = 100
  concurrency = 50
}
`, i, i%20, i%20, i%20, i)
	}
	for i := range workloads {
		members := make([]string, 20)
		for j := range members {
			members[j] = fmt.Sprintf("endpoint.e-%d", (i+20*j)%endpoints) // all of one model
		}
		fmt.Fprintf(&b, `workload "w-%d" {
  use  = [policy.default]
  apis = ["openai.chat"]
  contract {
    requires      = ["stream", "tools"]
    needs_context = 32000
    regions       = ["eu"]
    compliance    = ["zero-retention"]
  }
  tier "primary" { endpoints = [%s] }
}
`, i, strings.Join(members, ", "))
	}
	return &pb.Sources{Files: []*pb.SourceFile{{Name: "a.hcl", Content: []byte(b.String())}}}
}

// A thousand endpoints and 200 workloads in under a second (catalog.md).
func BenchmarkCompile(b *testing.B) {
	src := large(1000, 200)
	for b.Loop() {
		if r := Compile(src, Options{Now: time.Unix(1_800_000_000, 0)}); r.Failed() {
			b.Fatal(findings(r.Findings, true))
		}
	}
}
