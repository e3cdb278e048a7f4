package clientlib

import (
	"net/http"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/clientlib/dialect"
)

// forwarded are the headers of a caller that an endpoint gets, beside TransportConfig's.
var forwarded = []string{"User-Agent", "Traceparent", "Tracestate", "X-Request-Id", "X-Client-Request-Id", "Idempotency-Key"}

// forwards are they and those, as net/http writes them.
func forwards(those []string) []string {
	all := slices.Clone(forwarded)
	for _, name := range those {
		if !private(name) {
			all = append(all, http.CanonicalHeaderKey(name))
		}
	}
	return all
}

// Values that many requests share. They are never changed.
var (
	typeJSON   = []string{"application/json"}
	typeEvents = []string{"text/event-stream"}
)

// header is what an endpoint gets besides its credential: a caller's key is for whom the
// caller thinks it calls, and stays here.
func (x *exchange) header() http.Header {
	v := x.visit
	h := make(http.Header, 8)
	for _, name := range v.transport.forward {
		dialect.Carry(h, v.caller.Header, name)
	}
	switch {
	case v.ask.API == dialect.PlainHTTP:
		dialect.Carry(h, v.caller.Header, "Content-Type")
		dialect.Carry(h, v.caller.Header, "Accept")
	case v.ask.Stream:
		h["Content-Type"], h["Accept"] = typeJSON, typeEvents
	default:
		h["Content-Type"], h["Accept"] = typeJSON, typeJSON
	}
	return h
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
