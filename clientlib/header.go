package clientlib

import (
	"net/http"
	"slices"
	"strings"
)

// forwarded are the headers of a caller that an endpoint gets, beside TransportConfig's.
var forwarded = []string{"User-Agent", "Traceparent", "Tracestate", "X-Request-Id", "X-Client-Request-Id", "Idempotency-Key"}

// header is what an endpoint gets besides its credential: a caller's key is for whom the
// caller thinks it calls, and stays here.
func (x *exchange) header() http.Header {
	h := http.Header{}
	for _, name := range slices.Concat(forwarded, x.transport.config.Forward) {
		values := slices.DeleteFunc(slices.Clone(x.caller.Header.Values(name)), unfit)
		if len(values) > 0 && !private(name) {
			h[http.CanonicalHeaderKey(name)] = values
		}
	}
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json")
	if x.chat.Stream {
		h.Set("Accept", "text/event-stream")
	}
	return h
}

// unfit says whether a value cannot be sent. It would fail every attempt, and endpoints
// would be blamed for a caller's header.
func unfit(value string) bool {
	return strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// private says whether a header is never passed on, whatever TransportConfig says: it
// may hold a credential, or belongs to one connection.
func private(name string) bool {
	name = strings.ToLower(name)
	if name == "idempotency-key" {
		return false
	}
	for _, word := range []string{"auth", "cookie", "key", "token", "secret", "x-pointsman-", "host", "encoding", "connection", "content-"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
