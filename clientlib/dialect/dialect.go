// Package dialect knows how families of providers speak: where a request goes and how it
// is written, when an answer begins, what it used, and what its errors mean. It reads and
// writes bytes that others move: it opens no connection, keeps no secret and remembers
// nothing. clientlib calls it for every attempt.
//
// Two things differ, and each has files of its own. An API is a format of requests and
// answers (chat completions, responses, embeddings, messages, or bytes that nobody reads);
// a Dialect is a family of providers: addresses, credentials, headers and errors. An
// application that sends by itself needs Of, and of a Dialect Header, Answer and Failure.
//
//	                   openai  openai-compatible  azure-openai  vllm  anthropic  http
//	chat completions     ×             ×               ×         ×
//	responses            ×             ×               ×         ×
//	embeddings           ×             ×               ×         ×
//	messages                                                            ×
//	plain http                                                                     ×
package dialect

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/clientlib/route"
)

// Dialect is how a family of providers speaks: facts, and functions where facts do not do.
type Dialect struct {
	name     string
	apis     []API
	path     func(e *route.Endpoint, api API) string                // after the base address, with a query
	header   func(to, from http.Header, secret string)              // Header
	ids      []string                                               // headers, the best first
	counters []counter                                              // what answers tell of limits
	demands  func(e *route.Endpoint) bool                           // Demands; nil: all do
	kind     func(f *failure, status int) (route.OutcomeKind, bool) // what only its errors mean; nil: nothing
	opaque   bool                                                   // bodies are nobody's but the caller's
}

var dialects = [...]*Dialect{&openai, &compatible, &azure, &anthropic, &vllm, &plainHTTP}

// Of is a dialect by its name; nil: it is not spoken.
func Of(name string) *Dialect {
	for _, d := range dialects {
		if d.name == name {
			return d
		}
	}
	return nil
}

// Names are the dialects that are spoken.
func Names() []string {
	names := make([]string, len(dialects))
	for i, d := range dialects {
		names[i] = d.name
	}
	return names
}

// Speaks says whether providers of the family take an API.
func (d *Dialect) Speaks(api API) bool { return slices.Contains(d.apis, api) }

// URL is where requests of an API go.
func (d *Dialect) URL(e *route.Endpoint, api API) (*url.URL, error) {
	if !d.Speaks(api) {
		return nil, fmt.Errorf("dialect %s does not speak %s", d.name, api)
	}
	base := e.BaseURL
	if d.path != nil {
		base = strings.TrimRight(base, "/") + d.path(e, api)
	}
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("base_url: %w", err)
	}
	return u, nil
}

// Demands says whether an endpoint takes the demand for a stream's usage. Those that do not
// know it refuse the whole request.
func (d *Dialect) Demands(e *route.Endpoint) bool { return d.demands == nil || d.demands(e) }

// Header writes what the dialect adds to a request: the credential (none: empty) where it
// belongs, and those of the caller's headers that the API itself defines.
func (d *Dialect) Header(to, from http.Header, secret string) { d.header(to, from, secret) }

// RequestID is the provider's own id of an answer; empty if it gave none that is a word.
func (d *Dialect) RequestID(h http.Header) string {
	for _, name := range d.ids {
		if id := first(h, name); word(id) {
			return id
		}
	}
	return ""
}

// word says whether an id can stand in a line of text: short, printable, without spaces.
func word(id string) bool {
	if id == "" || len(id) > 128 {
		return false
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return true
}

// first is a header's first value; the name is as net/http writes it.
func first(h http.Header, name string) string {
	if values := h[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// bearer is how most credentials are sent.
func bearer(to http.Header, secret string) {
	if secret != "" {
		to["Authorization"] = []string{"Bearer " + secret}
	}
}

// Carry passes on what a caller wrote in a header, as far as it can be sent: the rest would
// fail every attempt, and endpoints would be blamed for it. The values stay the caller's.
func Carry(to, from http.Header, name string) {
	values := from[name]
	if slices.ContainsFunc(values, unfit) {
		values = slices.DeleteFunc(slices.Clone(values), unfit)
	}
	if len(values) > 0 {
		to[name] = values
	}
}

func unfit(value string) bool {
	return strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// based says whether a base address ends so.
func based(e *route.Endpoint, end string) bool {
	return strings.HasSuffix(strings.TrimRight(e.BaseURL, "/"), end)
}

// WireModel is an endpoint's model as its provider calls it.
func WireModel(e *route.Endpoint) string { return cmp.Or(e.WireModel, e.Model) }
