package catalog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// in reads one attribute, a = source, of a block.
func in[V any](t *testing.T, source string, read func(*block, *V) bool) (V, string) {
	t.Helper()
	c := newCompiler()
	bodies, whole := c.parse([]*pb.SourceFile{{Name: "a.hcl", Content: []byte("a = " + source)}})
	if !whole {
		t.Fatalf("%s does not parse", source)
	}
	var v V
	read(&block{c: c, kind: "test", path: "test.x", body: bodies[0]}, &v)
	return v, strings.TrimSpace(summaries(c))
}

func summaries(c *compiler) string {
	var all []string
	for _, f := range c.sorted() {
		all = append(all, f.Summary)
	}
	return strings.Join(all, "; ")
}

func TestDurationIsWholeMicrosecondsInRange(t *testing.T) {
	for source, want := range map[string]string{
		`"1us"`:      "1",
		`"0s"`:       "0",
		`"1.5s"`:     "1500000",
		`"1h30m"`:    "5400000000",
		`"24h"`:      "86400000000",
		`"24h1us"`:   `a is "24h1us"`,
		`"-1s"`:      `a is "-1s"`,
		`"1ns"`:      `a is "1ns"`,
		`"5"`:        `a is "5", which is no duration`,
		`"5 s"`:      `a is "5 s", which is no duration`,
		`"1d"`:       `a is "1d", which is no duration`,
		`"1e9s"`:     `a is "1e9s", which is no duration`,
		`"9999999h"`: `a is "9999999h", which is no duration`,
		`""`:         "a is empty",
		`5`:          `a is "5", which is no duration`,
		`["5s"]`:     "a must be text, not a list",
	} {
		us, wrong := in(t, source, duration("a", 0, 24*time.Hour))
		if got := either(us, wrong); got != want {
			t.Errorf("%s: %s, want %s", source, got, want)
		}
	}
}

func either(v any, wrong string) string {
	if wrong != "" {
		return wrong
	}
	return fmt.Sprint(v)
}

func TestPriceIsAnExactDecimal(t *testing.T) {
	for source, want := range map[string]string{
		`"0"`:         "0",
		`"2.00"`:      "2000000",
		`"0.000001"`:  "1",
		`"0.0000001"`: `a is "0.0000001": 7 decimals, at most 6 count`,
		`"1e3"`:       `a is "1e3": 'e' is no digit`,
		`"-1"`:        `a is "-1": '-' is no digit`,
		`"1,5"`:       `a is "1,5": ',' is no digit`,
		`".5"`:        `a is ".5": want digits, and digits after a point`,
		`2.5`:         "2500000",
		`0.1`:         "100000",
		`true`:        `a is "true": 't' is no digit`,
		`"1000000"`:   "1000000000000",
		`"1000001"`:   `a is "1000001"`,
	} {
		pico, wrong := in(t, source, func(b *block, dst *int64) bool { return b.price("a", dst) })
		if got := either(pico, wrong); got != want {
			t.Errorf("%s: %s, want %s", source, got, want)
		}
	}
}

func TestRatioIsInRange(t *testing.T) {
	for source, want := range map[string]string{
		`0`:      "0",
		`0.0`:    "0",
		`1`:      "1",
		`"0.5"`:  "0.5",
		`0.1`:    "0.1",
		`1.0001`: "a is 1.0001",
		`-0.1`:   "a is -0.1",
		`"half"`: "a must be a number, not text",
		`1 / 3`:  "0.3333333333333333",
		`[0.1]`:  "a must be a number, not a list",
		`1e-999`: "a is a number too long to write",
	} {
		f, wrong := in(t, source, ratio("a", 0, 1))
		if got := either(f, wrong); got != want {
			t.Errorf("%s: %s, want %s", source, got, want)
		}
	}
}

func TestSecretsAreRecognisedAndWordsAreNot(t *testing.T) {
	for s, want := range map[string]string{
		"sk-abcdefghijklmnop1234567890":                "an API key",
		"AKIAIOSFODNN7EXAMPLE":                         "an AWS access key",
		"-----BEGIN PRIVATE KEY-----":                  "a key or certificate",
		"Bearer abcdefghijklmnop1234":                  "a bearer token",
		"ghp_abcdefghijklmnopqrstuvwxyz0123456789":     "a GitHub token",
		"0f1e2d3c4b5a69788796a5b4c3d2e1f0":             "a random key",
		"dGhpcyBpcyBub3QgYSBzZWNyZXQgYnV0IGxvbmcgMQ==": "a random key",
		"sk-team":                                          "",
		"task-management-of-the-european-team":             "",
		"qwen2.5-72b-instruct/fp8/a1b2c3":                  "",
		"evals/support-chat/2026-11-02.json":               "",
		"https://weu.azure.example/openai/v1":              "",
		"spiffe://acme.example/ns/prod/sa/chat-frontend-2": "",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1":              "",
		"12345678901234567890123456789012":                 "",
	} {
		if got := secretKind(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
		if shown := quote(s); want != "" && strings.Contains(shown, s[:8]) {
			t.Errorf("%q is shown", s)
		}
	}
}

func TestVariablesOverride(t *testing.T) {
	src := &pb.Sources{Files: []*pb.SourceFile{{Name: "a.hcl", Content: []byte(`
variable "a" {}
variable "b" {}
variable "c" {}
variable "d" {}
`)}}}
	files := []*pb.SourceFile{
		{Name: "one", Content: []byte("b = \"one\"\nc = \"one\"\nd = [1, \"x\"]\n")},
		{Name: "two", Content: []byte("c = \"two\"\n")},
	}
	environ := []string{"POINTSMAN_VAR_a=env=1", "POINTSMAN_VAR_b=env", "POINTSMAN_VAR_other=env", "PATH=/bin", "POINTSMAN_VAR_c"}
	got, err := Variables(src, []string{"c=flag", "x=flag"}, files, environ)
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, v := range got {
		text = append(text, v.Name+"="+v.Value)
	}
	want := []string{"a=env=1", "b=one", "c=flag", `d=[1, "x"]`, "x=flag"}
	if d := cmp.Diff(want, text); d != "" {
		t.Error(d)
	}
}

func TestVariableErrorsRepeatNoValue(t *testing.T) {
	for _, c := range []struct {
		flags []string
		file  string
		want  string
	}{
		{[]string{"sk-abcdefghijklmnop1234567890"}, "", `variable "…": write name=value`},
		{nil, "a = var.b", "v:1:5: nothing can be referred to here"},
		{nil, "b {\n}", "v:1:1: a file of variables holds name = value only"},
		{nil, `a = "sk-abcdefghijklmnop1234567890"`, "v:1:6: this looks like an API key"},
	} {
		_, err := Variables(&pb.Sources{}, c.flags, []*pb.SourceFile{{Name: "v", Content: []byte(c.file)}}, nil)
		if err == nil || err.Error() != c.want {
			t.Errorf("%v %s: %v, want %s", c.flags, c.file, err, c.want)
		}
	}
}

func TestLoadTakesTheFoldersFilesInOrder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.hcl", "a.hcl", ".c.hcl", "d.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("# "+name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "e.hcl"), 0o700); err != nil {
		t.Fatal(err)
	}
	src, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range src.Files {
		got = append(got, f.Name+" "+string(f.Content))
	}
	if d := cmp.Diff([]string{"a.hcl # a.hcl\n", "b.hcl # b.hcl\n"}, got); d != "" {
		t.Error(d)
	}
}

func TestLoadSaysWhatIsWrong(t *testing.T) {
	empty, large := t.TempDir(), t.TempDir()
	f, err := os.Create(filepath.Join(large, "a.hcl"))
	if err == nil {
		err = errors.Join(f.Truncate(maxBytes+1), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		empty:                          "no *.hcl file in ",
		large:                          "the catalog is larger than 32 MiB",
		filepath.Join(empty, "absent"): "no such file",
	} {
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestCompileBoundsItsSources(t *testing.T) {
	large := &pb.SourceFile{Name: "a.hcl", Content: make([]byte, maxBytes)}
	one := &pb.SourceFile{Name: "b.hcl", Content: []byte("x")}
	many := &pb.SourceFile{Name: "a.hcl", Content: []byte(`endpoint "e" {
  for_each    = flatten([for i in local.ten : [for j in local.ten : [for k in local.ten : [for l in local.ten : ["a${i}${j}${k}${l}", "b${i}${j}${k}${l}"]]]]])
  provider    = provider.p
  apis        = ["x"]
  concurrency = 1
}
provider "p" {
  dialect  = "http"
  base_url = "https://x.example"
}
locals { ten = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"] }
`)}
	for want, files := range map[string][]*pb.SourceFile{
		"the catalog is larger than 32 MiB": {large, one},
		`file "b.hcl" is there twice`:       {one, one},
		"more than 10000 endpoints":         {many},
	} {
		r := Compile(&pb.Sources{Files: files}, Options{})
		if !r.Failed() || !strings.Contains(findings(r.Findings, true), want) {
			t.Errorf("%s, want %s", findings(r.Findings, true), want)
		}
	}
}

func TestDeepExpressionsAreRefused(t *testing.T) {
	for name, expr := range map[string]string{
		"brackets":  strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000),
		"operators": strings.Repeat("!", 20_000) + "true",
		"sums":      "1" + strings.Repeat(" + 1", 20_000),
		"comments":  "1" + strings.Repeat("/**/+ 1", 20_000),
		"templates": strings.Repeat(`"${`, 20_000) + "1" + strings.Repeat(`}"`, 20_000),
		"ternaries": strings.Repeat("true ? 1 : ", 20_000) + "1",
	} {
		src := &pb.Sources{Files: []*pb.SourceFile{{Name: "a.hcl", Content: []byte("locals {\n  a = " + expr + "\n}\n")}}}
		if r := Compile(src, Options{}); !r.Failed() {
			t.Errorf("%s pass", name)
		}
	}
}

func TestIdentityChangesWithWhatIsServedAndWhere(t *testing.T) {
	of := func(change func(*pb.Endpoint, *pb.Provider, *pb.Model)) uint64 {
		e, p, m := &pb.Endpoint{Name: "e", WireModel: "w", Region: "eu"}, &pb.Provider{Name: "p", BaseUrl: "https://a.example"}, &pb.Model{Artifact: "m@1"}
		change(e, p, m)
		return identity(e, p, m)
	}
	same := of(func(*pb.Endpoint, *pb.Provider, *pb.Model) {})
	for name, change := range map[string]func(*pb.Endpoint, *pb.Provider, *pb.Model){
		"address":    func(_ *pb.Endpoint, p *pb.Provider, _ *pb.Model) { p.BaseUrl += "/v2" },
		"instances":  func(e *pb.Endpoint, _ *pb.Provider, _ *pb.Model) { e.Instances = &pb.Instances{Dns: "a:1"} },
		"artifact":   func(_ *pb.Endpoint, _ *pb.Provider, m *pb.Model) { m.Artifact = "m@2" },
		"wire model": func(e *pb.Endpoint, _ *pb.Provider, _ *pb.Model) { e.WireModel = "x" },
		"region":     func(e *pb.Endpoint, _ *pb.Provider, _ *pb.Model) { e.Region = "us" },
		"provider":   func(_ *pb.Endpoint, p *pb.Provider, _ *pb.Model) { p.Name = "q" },
	} {
		if of(change) == same {
			t.Errorf("another %s, the same identity", name)
		}
	}
	for name, change := range map[string]func(*pb.Endpoint, *pb.Provider, *pb.Model){
		"credential": func(e *pb.Endpoint, _ *pb.Provider, _ *pb.Model) { e.Credential = "c" },
		"weight":     func(e *pb.Endpoint, _ *pb.Provider, _ *pb.Model) { e.Weight = new(int64) },
		"price":      func(_ *pb.Endpoint, _ *pb.Provider, m *pb.Model) { m.Price = &pb.Price{Input: 1} },
	} {
		if of(change) != same {
			t.Errorf("another %s, another identity", name)
		}
	}
}

func TestLoadFollowsLinksToFilesOnly(t *testing.T) {
	dir := t.TempDir()
	file, folder := filepath.Join(t.TempDir(), "elsewhere"), t.TempDir()
	if err := os.WriteFile(file, []byte("# here\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink(file, filepath.Join(dir, "a.hcl")), os.Symlink(folder, filepath.Join(dir, "b.hcl"))); err != nil {
		t.Fatal(err)
	}
	src, err := Load(dir)
	if err != nil || len(src.Files) != 1 || src.Files[0].Name != "a.hcl" {
		t.Fatal(src, err)
	}
	if err := os.Symlink(os.DevNull, filepath.Join(dir, "c.hcl")); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "c.hcl is no regular file") {
		t.Fatal(err)
	}
}

func TestAFileThatIsNoTextHasOneFinding(t *testing.T) {
	for content, want := range map[string]string{
		"\xff\xfea\x00":      "a.hcl:1:1: error: the file is not UTF-8 text (save it as UTF-8)\n",
		"# é\n# é\xe9\n\x00": "a.hcl:2:4: error: the file is not UTF-8 text (save it as UTF-8)\n",
		"# a\n\x00":          "a.hcl:2:1: error: the file is not UTF-8 text (save it as UTF-8)\n",
		"\ufeff# a\r\n":      "",
	} {
		r := Compile(&pb.Sources{Files: []*pb.SourceFile{{Name: "a.hcl", Content: []byte(content)}}}, Options{})
		if got := findings(r.Findings, false); got != want {
			t.Errorf("%q: %s", content, got)
		}
	}
}

func TestFindingsAreBoundedAndWhatIsLeftOutIsAnError(t *testing.T) {
	var b strings.Builder
	for i := range maxFindings + 10 {
		fmt.Fprintf(&b, "policy \"p-%d\" {}\n", i)
	}
	r := Compile(&pb.Sources{Files: []*pb.SourceFile{{Name: "a.hcl", Content: []byte(b.String())}}}, Options{})
	if len(r.Findings) != maxFindings+1 || !r.Failed() || r.Findings[0].Summary != "more than 10000 findings: the rest is left out" {
		t.Errorf("%d findings, first %v", len(r.Findings), r.Findings[0])
	}
}
