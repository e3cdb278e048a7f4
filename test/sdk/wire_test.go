package sdk

import "strings"

// text is what every good answer says, in the pieces of streams.
const text = "The ferry leaves at nine."

// Answers of OpenAI's API.
const (
	chatHead    = `{"id":"chatcmpl-1","object":"chat.completion","created":1767000000,"model":"model-1",`
	chatUsage   = `"usage":{"prompt_tokens":41,"completion_tokens":9,"total_tokens":50,"prompt_tokens_details":{"cached_tokens":32}}}`
	chatWhole   = chatHead + `"choices":[{"index":0,"message":{"role":"assistant","content":"The ferry leaves at nine.","refusal":null},"logprobs":null,"finish_reason":"stop"}],` + chatUsage
	chatTool    = chatHead + `"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"departures","arguments":"{\"pier\":4}"}}]},"finish_reason":"tool_calls"}],` + chatUsage
	chatJSON    = chatHead + `"choices":[{"index":0,"message":{"role":"assistant","content":"{\"hour\":9,\"pier\":4}","refusal":null},"finish_reason":"stop"}],` + chatUsage
	embeddings  = `{"object":"list","model":"model-1","data":[{"object":"embedding","index":0,"embedding":[0.25,-0.5,1]},{"object":"embedding","index":1,"embedding":[0,0.125,0]}],"usage":{"prompt_tokens":12,"total_tokens":12}}`
	response    = `{"id":"resp_1","object":"response","created_at":1767000000,"status":"completed","model":"model-1","error":null,"incomplete_details":null,`
	respUsage   = `"usage":{"input_tokens":41,"input_tokens_details":{"cached_tokens":32},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":50}}`
	respMessage = `"output":[{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"The ferry leaves at nine.","annotations":[]}]}],`
	respWhole   = response + respMessage + respUsage
	respTool    = response + `"output":[{"id":"fc_1","type":"function_call","call_id":"call_1","name":"departures","arguments":"{\"pier\":4}","status":"completed"}],` + respUsage
)

// Errors of OpenAI's API.
const (
	openAILimited  = `{"error":{"message":"Rate limit reached on tokens per min. Please try again in 20s.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`
	openAIBroken   = `{"error":{"message":"The server had an error.","type":"server_error","param":null,"code":null}}`
	openAITooLong  = `{"error":{"message":"This model's maximum context length is 128000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`
	openAIBadKey   = `{"error":{"message":"Incorrect API key provided.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`
	openAIBadValue = `{"error":{"message":"Invalid value for temperature.","type":"invalid_request_error","param":"temperature","code":"invalid_value"}}`
)

func chunk(rest string) string {
	return `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1767000000,"model":"model-1",` + rest + `}`
}

func delta(rest string) string {
	return chunk(`"choices":[{"index":0,"delta":` + rest + `,"finish_reason":null}]`)
}

func toolDelta(rest string) string { return delta(`{"tool_calls":[{"index":0,` + rest + `}]}`) }

const (
	openAIDone = `data: [DONE]`
	usageEvent = `"choices":[],"usage":{"prompt_tokens":41,"completion_tokens":9,"total_tokens":50}`
)

var (
	chatStream = []string{
		delta(`{"role":"assistant","content":""}`), delta(`{"content":"The ferry"}`), delta(`{"content":" leaves at nine."}`),
		chunk(`"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]`), chunk(usageEvent), openAIDone,
	}
	chatToolStream = []string{
		delta(`{"role":"assistant","content":null}`),
		toolDelta(`"id":"call_1","type":"function","function":{"name":"departures","arguments":""}`),
		toolDelta(`"function":{"arguments":"{\"pier\""}`), toolDelta(`"function":{"arguments":":4}"}`),
		chunk(`"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]`), chunk(usageEvent), openAIDone,
	}
	respBegun = []string{
		named(`{"type":"response.created","sequence_number":0,"response":` + unfinished + `}`),
		named(`{"type":"response.in_progress","sequence_number":1,"response":` + unfinished + `}`),
	}
	respStream = append(respBegun[:2:2],
		named(`{"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"msg_1","type":"message","role":"assistant","status":"in_progress","content":[]}}`),
		named(`{"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"The ferry"}`),
		named(`{"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_1","output_index":0,"content_index":0,"delta":" leaves at nine."}`),
		named(`{"type":"response.completed","sequence_number":5,"response":`+respWhole+`}`))
	respToolStream = append(respBegun[:2:2],
		named(`{"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"departures","arguments":"","status":"in_progress"}}`),
		named(`{"type":"response.function_call_arguments.delta","sequence_number":3,"item_id":"fc_1","output_index":0,"delta":"{\"pier\""}`),
		named(`{"type":"response.function_call_arguments.delta","sequence_number":4,"item_id":"fc_1","output_index":0,"delta":":4}"}`),
		named(`{"type":"response.completed","sequence_number":5,"response":`+respTool+`}`))
	respFailed = append(respBegun[:2:2],
		named(`{"type":"response.failed","sequence_number":2,"response":{"id":"resp_1","object":"response","status":"failed","model":"model-1","output":[],"error":{"code":"server_error","message":"The model failed."}}}`))
)

const unfinished = `{"id":"resp_1","object":"response","created_at":1767000000,"status":"in_progress","model":"model-1","output":[],"usage":null,"error":null}`

// named is an event that carries its type's name as well, as all do but those of chats.
func named(data string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(data, `{"type":"`), `"`)
	return "event: " + name + "\ndata: " + data
}

// Answers and errors of Anthropic's API.
const (
	messageHead  = `{"id":"msg_1","type":"message","role":"assistant","model":"model-1",`
	messageUsage = `"stop_sequence":null,"usage":{"input_tokens":38,"cache_creation_input_tokens":0,"cache_read_input_tokens":1024,"output_tokens":11}}`
	messageWhole = messageHead + `"content":[{"type":"text","text":"The ferry leaves at nine."}],"stop_reason":"end_turn",` + messageUsage
	messageTool  = messageHead + `"content":[{"type":"tool_use","id":"toolu_1","name":"departures","input":{"pier":4}}],"stop_reason":"tool_use",` + messageUsage
	messageJSON  = messageHead + `"content":[{"type":"text","text":"{\"hour\":9,\"pier\":4}"}],"stop_reason":"end_turn",` + messageUsage
	messageStart = `{"type":"message_start","message":` + messageHead + `"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":38,"cache_creation_input_tokens":0,"cache_read_input_tokens":1024,"output_tokens":1}}}`

	claudeLimited    = `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your limit."},"request_id":"req_2"}`
	claudeOverloaded = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_2"}`
	claudeBadKey     = `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_2"}`
	claudeTooLong    = `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"},"request_id":"req_2"}`
)

var (
	messageStream = []string{
		named(messageStart),
		named(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`),
		named(`{"type":"ping"}`),
		named(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"The ferry"}}`),
		named(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" leaves at nine."}}`),
		named(`{"type":"content_block_stop","index":0}`),
		named(`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":11}}`),
		named(`{"type":"message_stop"}`),
	}
	messageToolStream = []string{
		named(messageStart),
		named(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"departures","input":{}}}`),
		named(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"pier\""}}`),
		named(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":": 4}"}}`),
		named(`{"type":"content_block_stop","index":0}`),
		named(`{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":11}}`),
		named(`{"type":"message_stop"}`),
	}
	messageFailed = []string{messageStream[0], messageStream[1], named(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)}
)
