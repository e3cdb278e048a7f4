// Package dialect knows how families of providers speak: how a request is written, when
// an answer begins, what it used, and what its errors mean. It reads and writes bytes
// that others move: it opens no connection, knows no secret and keeps nothing.
// clientlib calls it for every attempt, probes call it now and then.
//
// One family so far: chat completions as OpenAI defines them, spoken by the dialects
// openai, openai-compatible and vllm.
package dialect

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
)

// ChatAPI is the API of chat completions, as catalogs call it.
const ChatAPI = "openai.chat"

var supported = []string{"openai", "openai-compatible", "vllm"}

// Supported says whether this library speaks a dialect.
func Supported(dialect string) bool { return slices.Contains(supported, dialect) }

// ChatURL is where chat completions of an endpoint go.
func ChatURL(base string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("base_url: %w", err)
	}
	return u.JoinPath("chat", "completions"), nil
}

// Authorize puts a secret where the dialect wants it.
func Authorize(h http.Header, secret string) { h.Set("Authorization", "Bearer "+secret) }

var idForm = regexp.MustCompile(`^[!-~]{1,128}$`)

// RequestID is the provider's own id of an answer; empty if it gave none that is a word.
func RequestID(h http.Header) string { return idForm.FindString(h.Get("X-Request-Id")) }
