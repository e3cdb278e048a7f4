package clientlib

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/clientlib/dialect"
)

// once says whether a request may not be repeated: one whose method promises nothing, unless
// its key does.
func (v *visit) once() bool {
	switch v.caller.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return false
	}
	return v.ask.API == dialect.PlainHTTP && v.caller.Header.Get("Idempotency-Key") == ""
}

// unsendable is what is wrong with a request that nobody could send as it came, or that
// would leave the endpoint's address; no endpoint is to blame. Empty: nothing.
func unsendable(r *http.Request) string {
	odd := func(c rune) bool { return c <= ' ' || c == 0x7f }
	switch {
	case strings.ContainsFunc(r.Method, func(c rune) bool { return odd(c) || c > 0x7f || strings.ContainsRune("()<>@,;:\\\"/[]?={}", c) }):
		return "the method is no word"
	case strings.ContainsFunc(r.URL.RawQuery, odd):
		return "the query has characters that are not escaped"
	case slices.ContainsFunc(strings.FieldsFunc(r.URL.Path, func(c rune) bool { return c == '/' || c == '\\' }), up):
		return "the path has a .. in it"
	}
	return ""
}

// up says whether a part of a path leads out of what is before it; some servers read a
// part only to its semicolon.
func up(part string) bool {
	name, _, _ := strings.Cut(part, ";")
	return name == ".."
}

// below is what a caller asks for, behind an endpoint's address.
func below(base, asked *url.URL) *url.URL {
	u := *base
	u.RawQuery = asked.RawQuery
	if path := strings.TrimLeft(asked.EscapedPath(), "/"); asked.Path != "" {
		u.RawPath = strings.TrimRight(base.EscapedPath(), "/") + "/" + path
		u.Path, _ = url.PathUnescape(u.RawPath) // both were escaped well
	}
	return &u
}
