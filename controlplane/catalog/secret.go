package catalog

import (
	"math"
	"regexp"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// What credentials of well-known issuers look like. The mark is cheap to look for.
var secretShapes = []struct {
	kind, mark string
	shape      *regexp.Regexp
}{
	{"a key or certificate", "-----BEGIN ", regexp.MustCompile(`-----BEGIN `)},
	{"an AWS access key", "AKIA", regexp.MustCompile(`\bAKIA[A-Z0-9]{16}\b`)},
	{"an AWS access key", "ASIA", regexp.MustCompile(`\bASIA[A-Z0-9]{16}\b`)},
	{"an API key", "k-", regexp.MustCompile(`\b[spr]k-[A-Za-z0-9_-]{20,}`)},
	{"an API key", "k_", regexp.MustCompile(`\b[spr]k_[A-Za-z0-9_-]{20,}`)},
	{"a Google API key", "AIza", regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{30,}`)},
	{"a GitHub token", "gh", regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9_]{20,}`)},
	{"a GitHub token", "github_pat_", regexp.MustCompile(`\bgithub_pat_[A-Za-z0-9_]{20,}`)},
	{"a GitLab token", "glpat-", regexp.MustCompile(`\bglpat-[A-Za-z0-9_-]{20,}`)},
	{"a Hugging Face token", "hf_", regexp.MustCompile(`\bhf_[A-Za-z0-9]{20,}`)},
	{"a Slack token", "xox", regexp.MustCompile(`\bxox[a-z]-[A-Za-z0-9-]{10,}`)},
	{"a signed token", "eyJ", regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.`)},
	{"a bearer token", "earer", regexp.MustCompile(`\b[Bb]earer\s+[A-Za-z0-9._~+/=-]{16,}`)},
}

// A run of this many letters and digits that looks drawn at random. Azure's keys are 32
// hexadecimal digits: about 3.4 bits a character; words with a number in them stay below 3.
const (
	randomRun  = 28
	randomBits = 3.0
)

var digestShape = regexp.MustCompile(`^([0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})$`)

// secretKind tells what kind of secret s looks like; "": none.
func secretKind(s string) string { return secretIn(s, false) }

// redact replaces a text that may hold a secret.
func redact(s string) string {
	if secretKind(s) != "" {
		return "…"
	}
	return s
}

func secretIn(s string, digests bool) string {
	if len(s) < 16 { // shorter than any of them
		return ""
	}
	for _, known := range secretShapes {
		if strings.Contains(s, known.mark) && known.shape.MatchString(s) {
			return known.kind
		}
	}
	for part := range strings.FieldsFuncSeq(s, betweenRuns) {
		if random(part) && !(digests && digestShape.MatchString(part)) {
			return "a random key"
		}
	}
	return ""
}

func betweenRuns(r rune) bool {
	return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '+' || r == '=')
}

// random tells whether a run mixes letters and digits with much entropy.
func random(s string) bool {
	if len(s) < randomRun || !strings.ContainsAny(s, "0123456789") || strings.Trim(s, "0123456789") == "" {
		return false
	}
	var counts [256]int
	for i := range len(s) {
		counts[s[i]]++
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits >= randomBits
}

// secrets refuses literals and comments that look like secrets: sources are stored and shown to
// everyone who may read the catalog. It never repeats what it found.
func (c *compiler) secrets(tokens hclsyntax.Tokens) {
	attribute, last := "", ""
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenIdent:
			last = string(t.Bytes)
		case hclsyntax.TokenEqual:
			attribute = last
		case hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit, hclsyntax.TokenComment:
			// An artifact and its evidence may be named by a digest.
			kind := secretIn(string(t.Bytes), attribute == "artifact" || attribute == "evidence")
			if kind == "" {
				continue
			}
			c.failAt(t.Range, "", "the catalog holds names of credentials only; the calling process maps a name to a secret", "this looks like "+kind)
		}
	}
}
