package story

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestABlockIsRetoldWithWhatCame(t *testing.T) {
	for name, c := range map[string]struct{ block, asked, answer, want string }{
		"an answer":                 {"q\n----\nold", "q\n", "new\n", "q\n----\nnew"},
		"an answer that ends short": {"q\n----\nold", "q\n", "new", "q\n----\nnew"},
		"several lines":             {"q\n  r\n----", "q\n  r\n", "1\n2\n", "q\n  r\n----\n1\n2"},
		"nothing, asked for":        {"q\n----\nold", "q\n", "", "q\n----"},
		"nothing, not asked for":    {"q", "q\n", "", "q"},
		"something not asked for":   {"q", "q\n", "new\n", "q\n----\nnew"},
		"comments":                  {"# one\n# two\nq\n----", "q\n", "a\n", "# one\n# two\nq\n----\na"},
		"a hash in the question":    {"q\n# two\n----", "q\n# two\n", "a\n", "q\n# two\n----\na"},
		"dashes in a line":          {"q ----\n----\nold", "q ----\n", "a\n", "q ----\n----\na"},
		"comments alone":            {"# one", "", "", "# one"},
		"empty lines":               {"q\n\\\nr\n----\n1\n\\\n2", "q\n\nr\n", "1\n\n2\n", "q\n\\\nr\n----\n1\n\\\n2"},
		"an empty line at the end":  {"q\n----", "q\n", "1\n\n", "q\n----\n1\n\\"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := ""
			got := retell(c.block, func(q string) string {
				asked += q
				return c.answer
			})
			if diff := cmp.Diff(c.want, got); diff != "" || asked != c.asked {
				t.Errorf("asked %q\n%s", asked, diff)
			}
		})
	}
}

func TestLinesAreCommandsButForComments(t *testing.T) {
	got := Lines(func(c string) string { return "<" + c + ">" })("a b\n# c\n\n d\n")
	if got != "<a b><d>" {
		t.Error(got)
	}
}

func TestRewriteWritesWhatCameAndLeavesTheRest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(file, []byte("# Up.\nup a\n\nquiet\n\n\nup b\n----\nold\n\n# end\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	*rewrite = true
	defer func() { *rewrite = false }()
	Run(t, file, func(*testing.T) func(string) string {
		return Lines(func(c string) string {
			if name, ok := strings.CutPrefix(c, "up "); ok {
				return strings.ToUpper(name) + "\n"
			}
			return ""
		})
	})
	got, err := os.ReadFile(file)
	if diff := cmp.Diff("# Up.\nup a\n----\nA\n\nquiet\n\n\nup b\n----\nB\n\n# end\n", string(got)); diff != "" || err != nil {
		t.Error(err, diff)
	}
}
