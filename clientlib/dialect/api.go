package dialect

import "strings"

// API is a format of requests and answers.
type API uint8

// The APIs. What a request of responses continues (previous_response_id, conversation, items
// by reference) is kept by one provider's account. Nothing here knows which: elsewhere the
// request is refused, or that is left out by servers that keep nothing. A workload whose
// callers continue responses has to have endpoints of one account only.
const (
	NoAPI           API = iota
	ChatCompletions     // openai.chat
	Responses           // openai.responses
	Embeddings          // openai.embeddings
	Messages            // anthropic.messages
	PlainHTTP           // http: bodies are opaque
	apis
)

var apiNames = [apis]string{"", "openai.chat", "openai.responses", "openai.embeddings", "anthropic.messages", "http"}

// apiPaths are how addresses of an API end. Messages are of other APIs, too: OpenAI's threads
// have some.
var apiPaths = [apis]string{ChatCompletions: "/chat/completions", Responses: "/responses", Embeddings: "/embeddings", Messages: "/v1/messages"}

// String is the API's name in catalogs.
func (a API) String() string {
	if a < apis {
		return apiNames[a]
	}
	return ""
}

// ParseAPI finds an API by its name; NoAPI: none is called so.
func ParseAPI(name string) API {
	for a := ChatCompletions; a < apis; a++ {
		if apiNames[a] == name {
			return a
		}
	}
	return NoAPI
}

// APIOf finds an API by how a path ends; NoAPI: not so. PlainHTTP has no path of its own.
func APIOf(path string) API {
	for a := ChatCompletions; a < apis; a++ {
		if apiPaths[a] != "" && strings.HasSuffix(path, apiPaths[a]) {
			return a
		}
	}
	return NoAPI
}
