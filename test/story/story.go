// Package story runs tests that are told in text files, so that what a part does can be
// read without its code, and new answers as a diff. Only tests import it.
//
// A story is blocks with an empty line between them:
//
//	# Comments first.
//	a question, in one line or several
//	----
//	its answer
//
// A question without an answer needs no "----". An empty line inside of a block is written
// as a lone backslash. The flag -rewrite writes the answers that came.
package story

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write the answers that came into the story files")

const (
	dashes = "\n----\n"
	empty  = `\`
)

// Run tells every story that the pattern matches in a subtest of its own. What begin
// returns answers the questions of one story, in their order.
func Run(t *testing.T, pattern string, begin func(*testing.T) (answer func(question string) string)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("stories: %v, %v", files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		t.Run(name, func(t *testing.T) {
			answer := begin(t)
			each(t, file, "\n\n", func(block string) string { return retell(block, answer) })
		})
	}
}

// Lines answers questions in which every line is a command, or a comment.
func Lines(answer func(command string) string) func(question string) string {
	return func(question string) string {
		var out strings.Builder
		for line := range strings.Lines(question) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				out.WriteString(answer(line))
			}
		}
		return out.String()
	}
}

// Table tells a file of lines "question = answer"; others are comments.
func Table(t *testing.T, file string, answer func(question string) string) {
	t.Helper()
	each(t, file, "\n", func(line string) string {
		question, _, ok := strings.Cut(line, "=")
		if !ok || line[0] == '#' {
			return line
		}
		question = strings.TrimSpace(question)
		return question + " = " + answer(question)
	})
}

// each compares every part of a file with what it is when told again, or writes that.
func each(t *testing.T, file, separator string, again func(part string) string) {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	line := 1
	for part := range strings.SplitSeq(strings.TrimRight(string(src), "\n"), separator) {
		got := again(part)
		told = append(told, got)
		if diff := cmp.Diff(strings.Split(part, "\n"), strings.Split(got, "\n")); diff != "" && !*rewrite {
			t.Errorf("%s:%d (-want +got):\n%s", file, line, diff)
		}
		line += strings.Count(part+separator, "\n")
	}
	if !*rewrite {
		return
	}
	if err := os.WriteFile(file, []byte(strings.Join(told, separator)+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// retell is a block with the answer that its question got.
func retell(block string, answer func(string) string) string {
	comments, rest := introduced(block)
	question, _, asks := strings.Cut(rest+"\n", dashes)
	question = strings.TrimSuffix(question, "\n")
	if question == "" {
		return block
	}
	got := answer(replaced(question, empty, ""))
	if got == "" && !asks {
		return block
	}
	return strings.TrimSuffix(comments+question+dashes+replaced(got, "", empty), "\n")
}

// introduced parts the comments at the beginning of a block from the rest.
func introduced(block string) (comments, rest string) {
	for line := range strings.Lines(block) {
		if line[0] != '#' && line[0] != '\n' {
			break
		}
		comments += line
	}
	return comments, block[len(comments):]
}

// replaced ends every line of a text, and puts lines of another kind for those of one.
func replaced(text, one, other string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); line == one {
			line = other
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}
