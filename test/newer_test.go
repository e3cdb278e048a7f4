package test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/controlplane"
	"github.com/pointsman/pointsman/controlplane/catalog"
	"github.com/pointsman/pointsman/controlplane/store"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// TestANewerCatalogMakesOneWorkloadUnusableByName: a strategy that this library does not
// know (requirement E6) comes the whole way, from etcd through a control plane, and costs
// its workload alone.
func TestANewerCatalogMakesOneWorkloadUnusableByName(t *testing.T) {
	dir := t.TempDir()
	publishNewer(t, filepath.Join(dir, "etcd"))
	s, err := controlplane.New(t.Context(), controlplane.Config{Socket: filepath.Join(dir, "c.sock"), DataDir: filepath.Join(dir, "etcd")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := s.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	defer serving.Wait()
	defer stop()
	ready, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	c, err := clientlib.Open(ready, clientlib.Config{Parents: []string{"unix://" + s.Addr().String()}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	a, err := c.Workload("plain").Pick(clientlib.Request{})
	if err != nil {
		t.Errorf("the other workload: %v", err)
	}
	a.Abandon()
	_, err = c.Workload("modern").Pick(clientlib.Request{})
	if !errors.Is(err, clientlib.ErrUnusable) || !strings.Contains(err.Error(), "quantum") {
		t.Errorf("the workload of a newer version: %v", err)
	}
}

const newerSource = `
model "m" {
  artifact          = "m@1"
  capabilities      = ["chat"]
  context_window    = 8192
  max_output_tokens = 1024
  price {
    input  = "0"
    output = "0"
  }
}

provider "p" {
  dialect  = "openai"
  base_url = "https://p.example/v1"
}

endpoint "e" {
  provider    = provider.p
  model       = model.m
  apis        = ["openai.chat"]
  region      = "eu"
  concurrency = 10
}

workload "plain" {
  apis = ["openai.chat"]
  tier "all" { endpoints = [endpoint.e] }
}

workload "modern" {
  apis = ["openai.chat"]
  tier "all" { endpoints = [endpoint.e] }
}
`

// publishNewer stores a catalog as a control plane of a later version would.
func publishNewer(t *testing.T, dir string) {
	t.Helper()
	sources := &pb.Sources{Files: []*pb.SourceFile{{Name: "newer.hcl", Content: []byte(newerSource)}}}
	r := catalog.Compile(sources, catalog.Options{Now: time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)})
	if r.Failed() {
		t.Fatal(r.Findings)
	}
	for _, resource := range r.Resources {
		if resource.Kind != pb.Kind_KIND_WORKLOAD || resource.Name != "modern" {
			continue
		}
		var w pb.Workload
		if err := proto.Unmarshal(resource.Body, &w); err != nil {
			t.Fatal(err)
		}
		w.Balance.Strategy = "quantum"
		var err error
		if resource.Body, err = proto.Marshal(&w); err != nil {
			t.Fatal(err)
		}
	}
	st, err := store.Open(t.Context(), store.Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	_, _, err = st.Publish(t.Context(), "default", store.Publication{
		Content: &pb.StoredContent{Resources: r.Resources, Sources: sources}, AnyBase: true,
		Info: &pb.RevisionInfo{Digest: catalog.Digest(r.Resources)}, Actor: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
}
