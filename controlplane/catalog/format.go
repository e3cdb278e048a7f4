package catalog

import (
	"bytes"

	"github.com/hashicorp/hcl/v2/hclwrite"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Format gives the canonical form of a file, or why it cannot be read. What is canonical stays as it is.
func Format(name string, src []byte) ([]byte, []*pb.Finding) {
	c := newCompiler()
	if len(src) > maxBytes {
		c.fail("", "", "%s: %v", name, errTooLarge)
		return nil, c.sorted()
	}
	if _, whole := c.parse([]*pb.SourceFile{{Name: name, Content: src}}); !whole {
		return nil, c.sorted()
	}
	out := bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	for range maxPasses {
		next := append(bytes.Trim(hclwrite.Format(out), "\n"), '\n')
		if bytes.Equal(next, out) {
			break
		}
		out = next
	}
	return out, nil
}

// maxPasses is how often the result is formatted again: the library may align what it has just moved.
const maxPasses = 8
