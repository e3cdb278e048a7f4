package clientlib

import (
	"fmt"
	"net/http"

	"github.com/pointsman/pointsman/clientlib/dialect"
	"github.com/pointsman/pointsman/clientlib/route"
)

// address is how an endpoint is asked. It is worked out once: requests of one API differ in
// header and body only.
type address struct {
	dialect *dialect.Dialect
	model   string // as its provider calls it
	demands bool   // a stream's usage
	forms   [dialect.PlainHTTP + 1]form
}

// form is a request of an API, without header and body.
type form struct {
	*http.Request
	err error // why there is none
}

// address is an endpoint's; it is kept as long as the catalog decides.
func (t *terms) address(e *route.Endpoint) *address {
	a, ok := t.addresses.Load(e)
	if !ok {
		a, _ = t.addresses.LoadOrStore(e, newAddress(e))
	}
	return a.(*address)
}

func newAddress(e *route.Endpoint) *address {
	a := &address{dialect: dialect.Of(e.Dialect), model: dialect.WireModel(e)}
	a.demands = a.dialect != nil && a.dialect.Demands(e)
	for api := range a.forms {
		a.forms[api] = newForm(a.dialect, e, dialect.API(api))
	}
	return a
}

func newForm(d *dialect.Dialect, e *route.Endpoint, api dialect.API) form {
	if d == nil {
		return form{err: fmt.Errorf("dialect %q is not spoken by this version", e.Dialect)}
	}
	u, err := d.URL(e, api)
	if err != nil {
		return form{err: err}
	}
	return form{Request: &http.Request{Method: http.MethodPost, URL: u, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}}
}

// form is the request of an API.
func (a *address) form(api dialect.API) (*http.Request, error) {
	return a.forms[api].Request, a.forms[api].err
}
