package catalog

import (
	"bytes"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// How deep an expression may go: the parser and the evaluation recurse.
const (
	maxNesting   = 100  // brackets within brackets
	maxOperators = 1000 // tokens between two separators at one depth
)

// parse gives the bodies of files, and whether they are whole.
func (c *compiler) parse(files []*pb.SourceFile) (bodies []*hclsyntax.Body, whole bool) {
	whole = true
	for _, f := range files {
		tokens, _ := hclsyntax.LexConfig(f.GetContent(), f.GetName(), hcl.InitialPos)
		c.secrets(tokens)
		if at := tooDeep(tokens); at != nil {
			c.failAt(*at, "", "name its parts with locals", "the expression is too deep or its number too long")
			whole = false
			continue
		}
		file, diags := hclsyntax.ParseConfig(f.GetContent(), f.GetName(), hcl.InitialPos)
		for _, d := range diags {
			c.diagnose("", d)
			whole = false
		}
		bodies = append(bodies, file.Body.(*hclsyntax.Body))
	}
	return bodies, whole
}

// parseLiteral evaluates an expression that may use nothing declared.
func parseLiteral(src string) (hclsyntax.Expression, error) {
	tokens, _ := hclsyntax.LexExpression([]byte(src), "", hcl.InitialPos)
	if tooDeep(tokens) != nil {
		return nil, fmt.Errorf("the expression is too deep or its number too long")
	}
	expr, diags := hclsyntax.ParseExpression([]byte(src), "", hcl.InitialPos)
	if diags.HasErrors() {
		return nil, fmt.Errorf("not an expression: %s", lowerFirst(diags[0].Summary))
	}
	return expr, nil
}

// longNumber tells whether a number would be very long, written out: 1e999999999.
func longNumber(literal []byte) bool {
	_, exponent, _ := bytes.Cut(bytes.ToLower(literal), []byte("e"))
	return len(exponent) > 4 || len(literal) > maxDigits
}

// tooDeep finds where an expression is deeper than the bounds.
func tooDeep(tokens hclsyntax.Tokens) *hcl.Range {
	open := []hclsyntax.TokenType{hclsyntax.TokenOBrace} // the file's body
	count := []int{0}
	for _, t := range tokens {
		top := len(open) - 1
		count[top]++
		switch t.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen,
			hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			open, count = append(open, t.Type), append(count, 0)
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenTemplateSeqEnd:
			if top > 0 {
				open, count = open[:top], count[:top]
			}
		case hclsyntax.TokenComma:
			count[top] = 0
		case hclsyntax.TokenNumberLit:
			if longNumber(t.Bytes) {
				return &t.Range
			}
		case hclsyntax.TokenNewline, hclsyntax.TokenComment: // a comment to the line's end holds its newline
			if open[top] == hclsyntax.TokenOBrace && bytes.HasSuffix(t.Bytes, []byte("\n")) {
				count[top] = 0
			}
		}
		if len(open) > maxNesting || count[len(count)-1] > maxOperators {
			return &t.Range
		}
	}
	return nil
}
