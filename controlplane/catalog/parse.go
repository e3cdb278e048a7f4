package catalog

import (
	"bytes"
	"fmt"
	"unicode/utf8"

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
		if at := notText(f.GetContent()); at >= 0 {
			c.failAt(hcl.Range{Filename: f.GetName(), Start: placeOf(f.GetContent(), at), End: placeOf(f.GetContent(), at)}, "", "save it as UTF-8", "the file is not UTF-8 text")
			whole = false
			continue
		}
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
		body := file.Body.(*hclsyntax.Body)
		c.meter.install(body)
		bodies = append(bodies, body)
	}
	return bodies, whole
}

// notText is where a file's first byte is that text has not; -1: nowhere.
func notText(content []byte) int {
	for i := 0; i < len(content); {
		r, n := utf8.DecodeRune(content[i:])
		if r == 0 || r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

func placeOf(content []byte, at int) hcl.Pos {
	before := content[:at]
	line := bytes.LastIndexByte(before, '\n') + 1
	return hcl.Pos{Line: bytes.Count(before, []byte("\n")) + 1, Column: utf8.RuneCount(before[line:]) + 1, Byte: at}
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
