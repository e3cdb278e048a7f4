// Package test holds what looks at the whole tree at once.
package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/pointsman/pointsman/"

// layer says what one package may import: of ours (a trailing /... takes the folder
// below it too), and beside the standard library (by prefix).
type layer struct {
	ours, others []string
}

var (
	leaves   = []string{"clientlib/route/window", "clientlib/route/money", "clientlib/route/breaker", "clientlib/route/limit"}
	core     = append([]string{"clientlib/route"}, leaves...)
	grpc     = []string{"google.golang.org/grpc", "google.golang.org/genproto", "google.golang.org/protobuf"}
	protobuf = []string{"google.golang.org/protobuf"}
	hclog    = []string{"github.com/hashicorp/go-hclog"}
)

func with(parts ...[]string) []string { return slices.Concat(parts...) }

// layers is the table of the architecture: a package that is not here may not exist.
var layers = map[string]layer{
	"proto/pointsman/v1":            {nil, grpc},
	"clientlib/route/window":        {},
	"clientlib/route/money":         {},
	"clientlib/route/limit":         {},
	"clientlib/route/breaker":       {ours: []string{"clientlib/route/window"}},
	"clientlib/route":               {ours: leaves},
	"clientlib/wire":                {with(core, []string{"proto/pointsman/v1"}), protobuf},
	"clientlib/cert":                {nil, grpc},
	"clientlib/uplink":              {[]string{"clientlib/cert", "clientlib/wire", "proto/pointsman/v1"}, grpc},
	"clientlib/dialect":             {ours: core},
	"clientlib":                     {with(core, []string{"clientlib/cert", "clientlib/wire", "clientlib/uplink", "clientlib/dialect", "proto/pointsman/v1"}), grpc},
	"clientlib/clienttest":          {with(core, []string{"clientlib", "clientlib/wire", "proto/pointsman/v1"}), protobuf},
	"clientlib/clientprom":          {[]string{"clientlib"}, []string{"github.com/prometheus/client_golang"}},
	"clientlib/clientotel":          {[]string{"clientlib", "clientlib/dialect"}, []string{"go.opentelemetry.io/otel"}},
	"agent/attest":                  {[]string{"agent/health", "agent/hub", "clientlib/cert", "proto/pointsman/v1"}, with(grpc, hclog)},
	"agent/hub":                     {[]string{"clientlib/cert", "clientlib/route", "clientlib/wire", "proto/pointsman/v1"}, grpc},
	"agent/rota":                    {},
	"agent/dial":                    {},
	"agent/engine":                  {[]string{"agent/rota", "clientlib/route"}, []string{"github.com/prometheus/common", "github.com/prometheus/client_model"}},
	"agent/probe":                   {[]string{"agent/rota", "agent/dial"}, nil},
	"agent/decide":                  {[]string{"clientlib", "clientlib/route", "proto/pointsman/v1"}, grpc},
	"agent/journal":                 {[]string{"proto/pointsman/v1"}, grpc},
	"agent/health":                  {nil, grpc},
	"agent/metrics":                 {[]string{"agent/hub", "proto/pointsman/v1"}, []string{"github.com/prometheus/client_golang"}},
	"agent":                         {[]string{"agent/...", "clientlib/...", "proto/pointsman/v1"}, with(grpc, hclog)},
	"controlplane/store":            {[]string{"proto/pointsman/v1"}, with(protobuf, []string{"go.etcd.io/etcd", "go.uber.org/zap", "github.com/klauspost/compress/zstd", "google.golang.org/grpc"})},
	"controlplane/access":           {[]string{"agent/health", "agent/hub", "clientlib/cert", "clientlib/wire", "controlplane/store", "proto/pointsman/v1"}, with(grpc, hclog)},
	"controlplane/catalog":          {with(core, []string{"clientlib/wire", "proto/pointsman/v1"}), with(protobuf, []string{"github.com/hashicorp/hcl", "github.com/zclconf/go-cty"})},
	"controlplane/fleet":            {ours: core},
	"controlplane/sim/traffic":      {},
	"controlplane/sim/server":       {ours: with(core, []string{"controlplane/sim/traffic"})},
	"controlplane/sim/measure":      {ours: core},
	"controlplane/sim":              {ours: with(core, []string{"controlplane/fleet", "controlplane/sim/measure", "controlplane/sim/server", "controlplane/sim/traffic"})},
	"controlplane/sim/rival":        {ours: with(core, []string{"controlplane/sim/..."})},
	"controlplane/catalog/scenario": {with(core, []string{"clientlib/wire", "controlplane/catalog", "controlplane/sim/...", "proto/pointsman/v1"}), with(protobuf, []string{"github.com/hashicorp/hcl", "github.com/zclconf/go-cty"})},
	"controlplane/metrics":          {[]string{"agent/hub", "agent/metrics"}, []string{"github.com/prometheus/client_golang"}},
	"controlplane/rpc":              {[]string{"controlplane/access", "controlplane/catalog", "controlplane/store", "clientlib/cert", "clientlib/route", "clientlib/wire", "proto/pointsman/v1"}, grpc},
	"controlplane":                  {[]string{"controlplane/...", "agent/...", "clientlib/...", "proto/pointsman/v1"}, with(grpc, hclog)},
	"cmd/pointsman":                 {[]string{"cmd/daemon", "cmd/pointsman/...", "controlplane/...", "agent/...", "clientlib/...", "proto/pointsman/v1"}, with(grpc, hclog, []string{"github.com/spf13", "golang.org/x/term"})},
	"cmd/pointsman/dev":             {[]string{"controlplane/...", "agent/...", "clientlib/...", "proto/pointsman/v1", "test/fake"}, with(grpc, hclog, []string{"golang.org/x/sync"})},
	"cmd/pointsman/simulate":        {with(core, []string{"controlplane/catalog/scenario", "controlplane/sim/..."}), []string{"golang.org/x/sync"}},
	"cmd/daemon":                    {[]string{"clientlib/cert"}, with(grpc, hclog, []string{"github.com/prometheus/client_golang"})},
	"cmd/pointsman-agent":           {[]string{"cmd/daemon", "agent/..."}, hclog},
	"cmd/pointsman-controlplane":    {[]string{"cmd/daemon", "controlplane/...", "clientlib/cert"}, hclog},
	"test/fake":                     {},
	"test/story":                    {others: []string{"github.com/google/go-cmp"}},
}

// pure packages take time and chance as arguments: these imports would break that.
var (
	pure     = with(core, []string{"controlplane/fleet", "controlplane/canary", "controlplane/sim", "controlplane/sim/traffic", "controlplane/sim/server", "controlplane/sim/measure", "controlplane/sim/rival"})
	impure   = []string{"sync", "sync/atomic", "context", "log", "log/slog", "net", "net/http", "os", "math/rand", "math/rand/v2"}
	clockUse = []string{"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer", "Sleep"}
)

type source struct {
	pkg  string // folder below the module
	name string
	file *ast.File
	fset *token.FileSet
}

// TestImportsGoOnlyToTheLeft holds every package to its line of the table.
func TestImportsGoOnlyToTheLeft(t *testing.T) {
	for _, s := range sources(t) {
		l, known := layers[s.pkg]
		if !known && (s.pkg == "test" || strings.HasPrefix(s.pkg, "test/")) {
			continue // tests see all
		}
		if !known {
			t.Errorf("%s: package %s is not in the table", s.name, s.pkg)
			continue
		}
		for _, imp := range imports(s) {
			switch {
			case strings.HasPrefix(imp, module):
				if ours := strings.TrimPrefix(imp, module); ours != s.pkg && !allows(l.ours, ours) {
					t.Errorf("%s: %s may not import %s", s.name, s.pkg, ours)
				}
			case strings.Contains(strings.Split(imp, "/")[0], "."):
				if !slices.ContainsFunc(l.others, func(p string) bool { return imp == p || strings.HasPrefix(imp, p+"/") }) {
					t.Errorf("%s: %s may not import %s", s.name, s.pkg, imp)
				}
			}
		}
	}
}

// TestPurePackagesTakeTimeAndChanceAsArguments refuses clocks, goroutines and shared state there.
func TestPurePackagesTakeTimeAndChanceAsArguments(t *testing.T) {
	seen := 0
	for _, s := range sources(t) {
		if !slices.Contains(pure, s.pkg) {
			continue
		}
		seen++
		for _, imp := range imports(s) {
			if slices.Contains(impure, imp) {
				t.Errorf("%s: a pure package imports %s", s.name, imp)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: a pure package starts a goroutine", s.fset.Position(n.Pos()))
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clockUse, n.Sel.Name) {
					t.Errorf("%s: a pure package reads the clock", s.fset.Position(n.Pos()))
				}
			}
			return true
		})
	}
	if seen == 0 {
		t.Fatal("no pure package was found")
	}
}

// TestTopLevelHasNoStrayEntries keeps the layout of the architecture.
func TestTopLevelHasNoStrayEntries(t *testing.T) {
	known := []string{"proto", "clientlib", "agent", "controlplane", "cmd", "deploy", "test", "docs",
		"README.md", "Makefile", "go.mod", "go.sum", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "buf.gen.yaml",
		"bin"} // built, not committed
	entries, err := filepath.Glob("../*")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := filepath.Base(e); !strings.HasPrefix(name, ".") && !slices.Contains(known, name) {
			t.Errorf("stray top-level entry %s", name)
		}
	}
}

func allows(list []string, pkg string) bool {
	return slices.ContainsFunc(list, func(p string) bool {
		if dir, ok := strings.CutSuffix(p, "/..."); ok {
			return pkg == dir || strings.HasPrefix(pkg, dir+"/")
		}
		return pkg == p
	})
}

func imports(s source) []string {
	var out []string
	for _, i := range s.file.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		out = append(out, p)
	}
	return out
}

// sources parses every hand-written, non-test Go file of the tree.
func sources(t *testing.T) []source {
	t.Helper()
	var out []source
	err := filepath.WalkDir("..", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); p != ".." && (strings.HasPrefix(base, ".") || base == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, p, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(p, "../"))
		out = append(out, source{path.Dir(name), name, f, fset})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
