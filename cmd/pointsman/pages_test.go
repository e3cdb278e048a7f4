package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What a page says to run of this program is understood: its verbs, its flags, and how many
// arguments it takes. Nothing is run.
func TestEveryCommandOfThePagesIsUnderstood(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range commandsOf(string(text)) {
			checked++
			if err := understood(line); err != nil {
				t.Errorf("%s: %s: %v", filepath.Base(page), line, err)
			}
		}
	}
	if checked < 30 {
		t.Errorf("%d commands: are they found?", checked)
	}
}

func TestACommandThatIsWrongIsNotUnderstood(t *testing.T) {
	const page = "```\npointsman status # which is one\nPOINTSMAN_ADDR=x sh -c true && pointsman stats\npointsman endpoint drian a\npointsman endpoint drain\n" +
		"pointsman endpoint drain a \\\n  -untli 1h\npointsman endpoint drain a -for soon\n$ go run ./cmd/pointsman status x\n```\npointsman nothing, `pointsman catalog shwo` and `pointsman …`\n"
	var right []string
	lines := commandsOf(page)
	for _, line := range lines {
		if understood(line) == nil {
			right = append(right, line)
		}
	}
	if len(lines) != 8 || len(right) != 1 || right[0] != "pointsman status" {
		t.Errorf("of %q are understood %q", lines, right)
	}
}

// commandLine is what a shell would run of this program: after a prompt, in a container, or from its sources.
var commandLine = regexp.MustCompile(`^(?:\$ )?(?:kubectl .* -- /usr/bin/|go run \./cmd/)?(pointsman .*)`)

var inText = regexp.MustCompile("`(pointsman [a-z][^`]*)`")

// commandsOf are the lines of a page's blocks that run this program, and what its text says to run.
func commandsOf(page string) (all []string) {
	inside := false
	for line := range strings.Lines(strings.ReplaceAll(page, "\\\n", " ")) {
		if strings.HasPrefix(line, "```") {
			inside = !inside
		}
		if !inside {
			for _, found := range inText.FindAllStringSubmatch(line, -1) {
				all = append(all, found[1])
			}
			continue
		}
		line, _, _ = strings.Cut(line, " #")
		for command := range strings.SplitSeq(line, "&&") {
			found := commandLine.FindStringSubmatch(strings.TrimSpace(command))
			if found != nil && !strings.HasPrefix(found[1], "pointsman dev  ") { // which dev prints
				all = append(all, found[1])
			}
		}
	}
	return all
}

var shellWord = regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`)

func understood(line string) error {
	var words []string
	for _, w := range shellWord.FindAllString(line, -1)[1:] {
		words = append(words, strings.Trim(w, `'"`))
	}
	root := newRoot(&env{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard})
	cmd, rest, err := root.Find(normalise(root, words))
	switch {
	case err != nil:
		return err
	case cmd.HasSubCommands():
		return fmt.Errorf("%s needs one of its verbs, and has %q", cmd.CommandPath(), rest)
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}
