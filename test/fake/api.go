package fake

import (
	"net/http"
	"strings"
)

// format is how an API writes what a model says.
type format struct {
	whole func(*answer) any
	begin func(*answer) []event              // of a stream, before its first token
	piece func(a *answer, text string) event // some of its tokens
	end   func(*answer) []event              // the last is the end mark
	tells int64                              // as many tokens a stream tells the usage of as it begins
}

// event is one of a stream: named, or data alone. A data of type string is sent as it is.
type event struct {
	name string
	data any
}

// way is an API at an address, with the customs of who serves it.
type way struct {
	pattern string
	customs *customs
	format  *format
}

var ways = []way{
	{"POST /v1/chat/completions", &openAI, &chat},
	{"POST /v1/responses", &openAI, &responses},
	{"POST /v1/embeddings", &openAI, &embeddings},
	{"POST /v1/messages", &anthropic, &messages},
	{"POST /openai/deployments/{model}/chat/completions", &azure, &chat},
	{"POST /openai/deployments/{model}/embeddings", &azure, &embeddings},
	{"POST /openai/responses", &azure, &responses},
	{"/plain", &plainHTTP, &plain},
	{"/plain/", &plainHTTP, &plain},
}

// plain is what answers when bodies mean nothing: it tells what came.
var plain = format{
	whole: func(a *answer) any {
		r := a.http
		return map[string]string{"method": r.Method, "path": r.URL.Path, "query": r.URL.RawQuery, "body": string(a.request.body), "text": text(0, a.output)}
	},
	begin: func(*answer) []event { return nil },
	piece: func(_ *answer, text string) event { return event{data: map[string]string{"text": text}} },
	end:   func(*answer) []event { return nil },
}

// asksForStream says so of a request whose body means nothing.
func asksForStream(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}
