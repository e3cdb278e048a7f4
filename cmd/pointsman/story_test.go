package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/test/story"
)

// TestStories runs what testdata/stories say. A command stands after "$ ", its answer below "----": standard
// output, then standard error after "! ", then the exit code unless it is 0. Besides pointsman there are
// cat FILE, ls DIR, mode FILE, edit FILE OLD NEW and drop FILE BLOCK. $TMP holds a copy of testdata/catalog.
func TestStories(t *testing.T) {
	story.Run(t, "testdata/stories/*.txt", func(t *testing.T) func(string) string { return story.Lines(narrate(t).run) })
}

// narrator runs the commands of one story.
type narrator struct {
	t       *testing.T
	tmp     string
	environ []string
}

func narrate(t *testing.T) *narrator {
	n := &narrator{t: t, tmp: t.TempDir(), environ: []string{
		"POINTSMAN_ADDR=" + serve(t, newWorld()), "POINTSMAN_AGENT=" + serveAgent(t, history()...), "USER=ada",
	}}
	if err := os.CopyFS(filepath.Join(n.tmp, "catalog"), os.DirFS("testdata/catalog")); err != nil {
		t.Fatal(err)
	}
	return n
}

var word = regexp.MustCompile(`"([^"]*)"|'([^']*)'|(\S+)`)

func (n *narrator) run(command string) string {
	var args []string
	for _, m := range word.FindAllStringSubmatch(strings.TrimPrefix(command, "$ "), -1) {
		args = append(args, strings.NewReplacer("$TMP", n.tmp, "$ADDR", n.address()).Replace(m[1]+m[2]+m[3]))
	}
	var stdout, stderr bytes.Buffer
	code := 0
	if args[0] == "pointsman" {
		code = run(args[1:], strings.NewReader(""), &stdout, &stderr, n.environ)
	} else if err := n.file(&stdout, args); err != nil {
		n.t.Errorf("%s: %v", command, err)
	}
	out := stdout.String()
	for line := range strings.Lines(stderr.String()) {
		out += "! " + line
	}
	if code != 0 {
		out += fmt.Sprintf("exit %d\n", code)
	}
	return strings.NewReplacer(n.tmp, "$TMP", n.address(), "$ADDR").Replace(out)
}

// address is where the control plane is.
func (n *narrator) address() string { return strings.TrimPrefix(n.environ[0], "POINTSMAN_ADDR=") }

// file looks at files, or changes one.
func (n *narrator) file(out *bytes.Buffer, args []string) error {
	switch args[0] {
	case "cat":
		data, err := os.ReadFile(args[1])
		out.Write(data)
		return err
	case "ls":
		entries, err := os.ReadDir(args[1])
		for _, entry := range entries {
			fmt.Fprintln(out, entry.Name())
		}
		return err
	case "mode":
		info, err := os.Stat(args[1])
		if err == nil {
			fmt.Fprintln(out, info.Mode())
		}
		return err
	case "edit":
		data, err := os.ReadFile(args[1])
		if err != nil {
			return err
		}
		if !bytes.Contains(data, []byte(args[2])) {
			return fmt.Errorf("%s has no %q", args[1], args[2])
		}
		return os.WriteFile(args[1], bytes.ReplaceAll(data, []byte(args[2]), []byte(args[3])), 0o644)
	case "drop":
		data, err := os.ReadFile(args[1])
		if err != nil {
			return err
		}
		before, rest, _ := bytes.Cut(data, []byte(args[2]))
		_, after, ok := bytes.Cut(rest, []byte("\n}\n"))
		if !ok {
			return fmt.Errorf("%s has no block %q", args[1], args[2])
		}
		return os.WriteFile(args[1], append(before, after...), 0o644)
	}
	return fmt.Errorf("no command %s", args[0])
}
