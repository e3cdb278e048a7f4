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

// plainKind: path, method and conditions are the caller's, so what is missing, forbidden or
// elsewhere there is the caller's matter, not the endpoint's.
func plainKind(_ *failure, status int) (route.OutcomeKind, bool) {
	if status == 304 {
		return route.Served, true
	}
	return route.Refused, status/100 == 3 || status == 403 || status == 404 || status == 410
}
