package dialect

import (
	"net/http"

	"github.com/pointsman/pointsman/clientlib/route"
)

// plainHTTP is any service that HTTP reaches: its bodies are not read, its answers judged by
// their status alone.
var plainHTTP = Dialect{
	name:   "http",
	apis:   []API{PlainHTTP},
	header: func(to, _ http.Header, secret string) { bearer(to, secret) },
	ids:    []string{"X-Request-Id"},
	kind:   plainKind,
	opaque: true,
}

// plainKind: path and method are the caller's, so what is missing or forbidden there is
// the caller's matter, not the endpoint's.
func plainKind(_ *failure, status int) (route.OutcomeKind, bool) {
	return route.Refused, status == 403 || status == 404 || status == 410
}
