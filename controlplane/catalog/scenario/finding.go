package scenario

import (
	"fmt"
	"strings"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Error is all that is wrong with a scenario, in order of source.
type Error struct{ Findings []*pb.Finding }

// Error has a line for each finding: file:line:column: what is wrong (what would be right).
func (e *Error) Error() string {
	lines := make([]string, 0, len(e.Findings))
	for _, f := range e.Findings {
		lines = append(lines, line(f))
	}
	return strings.Join(lines, "\n")
}

func line(f *pb.Finding) string {
	text := f.GetSummary()
	if f.GetFile() != "" {
		text = fmt.Sprintf("%s:%d:%d: %s", f.GetFile(), f.GetLine(), f.GetColumn(), text)
	}
	if f.GetHint() != "" {
		text += " (" + f.GetHint() + ")"
	}
	return text
}
