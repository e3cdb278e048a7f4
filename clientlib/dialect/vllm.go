package dialect

// vllm is a server of one's own: it knows no limits but its queue's. It tells a request's
// id only when started so.
var vllm = Dialect{
	name:   "vllm",
	apis:   openaiAPIs,
	path:   openaiPath,
	header: openaiHeader,
	ids:    []string{"X-Request-Id"},
}
