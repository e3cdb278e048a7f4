package dialect

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

type askCase struct {
	rule, body string
	want       Ask // Text: bytes, by hand
}

// image is one whose bytes would be 100,000 tokens.
var image = `{"type":"image_url","image_url":{"url":"data:image/png;base64,` + strings.Repeat("A", 400_000) + `"}}`

func TestWhatARequestNeeds(t *testing.T) {
	for api, cases := range map[API][]askCase{
		ChatCompletions: {
			{"a plain one needs nothing", `{"model":"chat","messages":[]}`, Ask{Model: "chat", Text: 2}},
			{"a stream", `{"stream":true}`, Ask{Stream: true, Needs: []string{"stream"}}},
			{"tools", `{"tools":[{"type":"function"}]}`, Ask{Needs: []string{"tools"}, Text: 21}},
			{"no tools", `{"tools":[ ],"functions":null}`, Ask{Text: 3}},
			{"functions, as they were called", `{"functions":[{}]}`, Ask{Needs: []string{"tools"}, Text: 4}},
			{"a schema", `{"response_format":{"type":"json_schema","json_schema":{}}}`, Ask{Needs: []string{"json_schema"}}},
			{"any JSON", `{"response_format":{"json_schema":{"type":"text"},"type":"json_object"}}`, Ask{Needs: []string{"json_schema"}}},
			{"text", `{"response_format":{"type":"text"}}`, Ask{}},
			{"odd types ask for nothing", `{"response_format":"json_schema","modalities":"audio","messages":7,"tools":false}`, Ask{Text: 6}},
			{"an image, whose bytes are no tokens", `{"messages":[{"content":[` + image + `]}]}`, Ask{Needs: []string{"vision"}, Text: 16, Media: 1000}},
			{"each medium counts", `{"messages":[{"content":[` + image + `,` + image + `]},{"content":[{"type":"file"}]}]}`, Ask{Needs: []string{"vision"}, Text: 32, Media: 3000}},
			{"a sound", `{"messages":["odd",{"content":[1,{"type":"input_audio"}]}]}`, Ask{Needs: []string{"audio"}, Text: 24, Media: 1000}},
			{"a film", `{"messages":[{"content":[{"video_url":{},"type":"video_url"}]}]}`, Ask{Needs: []string{"video"}, Text: 16, Media: 1000}},
			{"the newer limit wins", `{"max_completion_tokens":7,"max_tokens":5}`, Ask{MaxOutput: 7}},
			{"but not with null", `{"max_tokens":5,"max_completion_tokens":null}`, Ask{MaxOutput: 5}},
			{"nulls are absent", `{"model":null,"stream":null,"max_tokens":null,"stream_options":null,"messages":null}`, Ask{}},
			{"usage that the caller wants", `{"stream":true,"stream_options":{"include_usage":true}}`, Ask{Stream: true, Usage: true, Needs: []string{"stream"}}},
			{"only exact names count", `{"Stream":true,"MODEL":"x"}`, Ask{}},
			{"inside too", `{"stream":true,"stream_options":{"Include_Usage":true},"response_format":{"TYPE":"json_object"}}`, Ask{Stream: true, Needs: []string{"stream"}}},
			{"no other case hides an image", `{"messages":[{"content":[{"type":"image_url","Type":"text"}],"Content":"x"}]}`, Ask{Needs: []string{"vision"}, Text: 30, Media: 1000}},
			{"an escaped name is that name", `{"m\u006fdel":"a\/b\n","\u0073tream":true}`, Ask{Model: "a/b\n", Stream: true, Needs: []string{"stream"}}},
			{"an escaped kind is that kind", `{"messages":[{"content":[{"type":"im\u0061ge_url","\u0061":1}]}]}`, Ask{Needs: []string{"vision"}, Text: 16, Media: 1000}},
			{"an answer as sound", `{"modalities":["text","audio"]}`, Ask{Needs: []string{"audio"}}},
			{"the last of two wins", `{"model":"a","model":"b","messages":[{"content":[` + image + `]}],"messages":[],"max_tokens":3,"max_tokens":4,"tools":[{}],"tools":[]}`, Ask{Model: "b", Text: 4, MaxOutput: 4}},
			{"in a part too", `{"messages":[{"content":[{"type":"image_url","type":"text"}]}]}`, Ask{Text: 50}},
			{"all at once", `{"stream":true,"tools":[1],"modalities":["audio"],"response_format":{"type":"json_object"},"messages":[{"content":[{"type":"image"},{"type":"video"}]}]}`,
				Ask{Stream: true, Needs: []string{"audio", "json_schema", "stream", "tools", "video", "vision"}, Text: 20, Media: 2000}},
		},
		Responses: {
			{"input may be a text", `{"model":"m","input":"hi","max_output_tokens":9}`, Ask{Model: "m", Text: 4, MaxOutput: 9}},
			{"instructions are prompt", `{"instructions":"be kind","input":"hi","stream":true}`, Ask{Stream: true, Needs: []string{"stream"}, Text: 13}},
			{"an image in a message", `{"input":[{"role":"user","content":[{"type":"input_text","text":"x"},{"type":"input_image","image_url":"AAAA"}]}]}`, Ask{Needs: []string{"vision"}, Text: 63, Media: 1000}},
			{"in what a tool gave", `{"input":[{"type":"function_call_output","output":[{"type":"input_image"}]}]}`, Ask{Needs: []string{"vision"}, Text: 45, Media: 1000}},
			{"a file", `{"input":[{"content":[{"type":"input_file","file_data":"AAAA"}]}]}`, Ask{Text: 16, Media: 1000}},
			{"a schema", `{"text":{"format":{"type":"json_schema","schema":{}}}}`, Ask{Needs: []string{"json_schema"}}},
			{"text", `{"text":{"format":{"type":"text"},"verbosity":"low"}}`, Ask{}},
			{"tools", `{"tools":[{"type":"web_search"}]}`, Ask{Needs: []string{"tools"}, Text: 23}},
			{"no limit of another API", `{"max_tokens":"x","max_completion_tokens":-1,"stream_options":[]}`, Ask{}},
		},
		Embeddings: {
			{"a text", `{"model":"e","input":"some text"}`, Ask{Model: "e", Text: 11}},
			{"texts", `{"input":["a","b"]}`, Ask{Text: 9}},
			{"tokens are counted", `{"input":[1,22,333]}`, Ask{Media: 3}},
			{"and lists of them", `{"input":[[1,22],[333]]}`, Ask{Text: 3, Media: 3}},
			{"nothing", `{"input":null,"dimensions":7}`, Ask{}},
		},
		Messages: {
			{"a plain one", `{"model":"c","max_tokens":64,"system":"be kind","messages":[{"role":"user","content":"hi"}]}`, Ask{Model: "c", Text: 41, MaxOutput: 64}},
			{"a system in blocks", `{"system":[{"type":"text","text":"x"}]}`, Ask{Text: 28}},
			{"an image", `{"messages":[{"content":[{"type":"image","source":{"type":"base64","data":"AAAA"}}]}]}`, Ask{Needs: []string{"vision"}, Text: 16, Media: 1000}},
			{"in what a tool gave", `{"messages":[{"content":[{"type":"tool_result","content":[{"type":"image"}]}]}]}`, Ask{Needs: []string{"vision"}, Text: 51, Media: 1000}},
			{"a document", `{"messages":[{"content":[{"type":"document","source":{"type":"base64"}}]}]}`, Ask{Text: 16, Media: 1000}},
			{"a document of text is text", `{"messages":[{"content":[{"source":{"type":"text"},"type":"document"}]}]}`, Ask{Text: 60}},
			{"also in pieces", `{"messages":[{"content":[{"type":"document","source":{"type":"content","content":[{"type":"text","text":"x"}]}}]}]}`, Ask{Text: 102}},
			{"tools", `{"tools":[{"name":"t"}],"stream":true}`, Ask{Stream: true, Needs: []string{"stream", "tools"}, Text: 14}},
			{"a schema", `{"output_config":{"format":{"type":"json_schema"}}}`, Ask{Needs: []string{"json_schema"}}},
			{"as it was written before", `{"output_format":{"type":"json_schema"}}`, Ask{Needs: []string{"json_schema"}}},
		},
		PlainHTTP: {{"anything", `{"model":"m","stream":true`, Ask{}}},
	} {
		for _, c := range cases {
			got, err := Parse(api, []byte(c.body))
			if err != nil {
				t.Errorf("%v: %s: %v", api, c.rule, err)
				continue
			}
			c.want.API = api
			if diff := cmp.Diff(c.want, *got, cmpopts.IgnoreUnexported(Ask{}), cmpopts.IgnoreFields(Ask{})); diff != "" {
				t.Errorf("%v: %s:\n%s", api, c.rule, diff)
			}
		}
	}
}

func TestAPrefixIsHowThePromptBegins(t *testing.T) {
	long := `[{"role":"system","content":"` + strings.Repeat("x", maxPrefix) + `"}]`
	for _, c := range []struct {
		api        API
		body, want string
	}{
		{ChatCompletions, `{"model":"m"}`, ""},
		{ChatCompletions, `{"messages": [{"content":"hi"}] ,"tools":[{}]}`, `[{"content":"hi"}]`},
		{ChatCompletions, `{"messages":` + long + `}`, long[:maxPrefix]},
		{Responses, `{"input":"hi","instructions":"be kind"}`, `"be kind""hi"`},
		{Messages, `{"messages":[{}],"system":"be kind"}`, `"be kind"[{}]`},
		{Messages, `{"messages":[{}],"system":` + long + `}`, long[:maxPrefix]},
		{Messages, `{"messages":[{}],"system":null}`, `[{}]`},
		{PlainHTTP, `{"messages":[{}]}`, ""},
	} {
		if q, err := Parse(c.api, []byte(c.body)); err != nil || q.Prefix() != c.want {
			t.Errorf("%.40s: %v, %.40s", c.body, err, q.Prefix())
		}
	}
}

func TestRequestsThatCannotBeRouted(t *testing.T) {
	for _, c := range []struct {
		api        API
		body, want string
	}{
		{ChatCompletions, ``, "the body is not a JSON object"},
		{ChatCompletions, `null`, "the body is not a JSON object"},
		{ChatCompletions, `{"model":"x"`, "the body is not a JSON object"},
		{ChatCompletions, `{"model":"x"} {}`, "the body is not a JSON object"},
		{ChatCompletions, `{"a":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, "the body is not a JSON object"},
		{ChatCompletions, `{"messages":` + strings.Repeat(`[{"content":`, 20_000), "the body is not a JSON object"},
		{ChatCompletions, `{"model":7,"stream":"yes"}`, "model: want a string\nstream: want true or false"},
		{ChatCompletions, `{"max_tokens":-1}`, "max_tokens: want 0 or more, got -1"},
		{ChatCompletions, `{"max_completion_tokens":-1,"max_tokens":"5"}`, "max_tokens: want a whole number\nmax_completion_tokens: want 0 or more, got -1"},
		{ChatCompletions, `{"max_tokens":9223372036854775808}`, "max_tokens: want a whole number"},
		{ChatCompletions, `{"max_tokens":1.5}`, "max_tokens: want a whole number"},
		{ChatCompletions, `{"stream":true,"stream_options":[1]}`, "stream_options: want an object"},
		{Responses, `{"max_output_tokens":{},"model":[]}`, "model: want a string\nmax_output_tokens: want a whole number"},
		{Embeddings, `[]`, "the body is not a JSON object"},
		{Messages, `{"max_tokens":-7}`, "max_tokens: want 0 or more, got -7"},
	} {
		if _, err := Parse(c.api, []byte(c.body)); err == nil || err.Error() != c.want {
			t.Errorf("%.60s: %v, want %s", c.body, err, c.want)
		}
	}
}

func TestWhatIsSent(t *testing.T) {
	for _, c := range []struct {
		rule       string
		api        API
		body, want string
	}{
		{"the model is the provider's", ChatCompletions, ` {"model" : "chat","seed":12345678901234567890} `, ` {"model" : "m-1","seed":12345678901234567890} `},
		{"a model that came in a header", ChatCompletions, `{"messages":["<&>"] } `, `{"messages":["<&>"] ,"model":"m-1"} `},
		{"into nothing", Embeddings, `{ }`, `{ "model":"m-1"}`},
		{"instead of null", Messages, `{"model":null}`, `{"model":"m-1"}`},
		{"whatever its name is written like", Responses, `{"m\u006fdel":"x"}`, `{"m\u006fdel":"m-1"}`},
		{"usage is asked for", ChatCompletions, `{"stream":true}`, `{"stream":true,"model":"m-1","stream_options":{"include_usage":true}}`},
		{"beside other options", ChatCompletions, `{"stream_options":{"x":1},"stream":true,"model":"a"}`, `{"stream_options":{"x":1,"include_usage":true},"stream":true,"model":"m-1"}`},
		{"where there are none", ChatCompletions, `{"model":"a","stream":true,"stream_options":{ }}`, `{"model":"m-1","stream":true,"stream_options":{ "include_usage":true}}`},
		{"or null", ChatCompletions, `{"model":"a","stream_options":null,"stream":true}`, `{"model":"m-1","stream_options":{"include_usage":true},"stream":true}`},
		{"where it was refused", ChatCompletions, `{"model":"a","stream":true,"stream_options":{"include_usage": false,"x":1}}`, `{"model":"m-1","stream":true,"stream_options":{"include_usage": true,"x":1}}`},
		{"not twice", ChatCompletions, `{"model":"a","stream":true,"stream_options":{"include_usage":true}}`, `{"model":"m-1","stream":true,"stream_options":{"include_usage":true}}`},
		{"also where it was asked for in another case", ChatCompletions, `{"model":"a","stream":true,"stream_options":{"INCLUDE_USAGE":true}}`, `{"model":"m-1","stream":true,"stream_options":{"INCLUDE_USAGE":true,"include_usage":true}}`},
		{"or as no truth", ChatCompletions, `{"model":"a","stream":true,"stream_options":{"include_usage":"yes"}}`, `{"model":"m-1","stream":true,"stream_options":{"include_usage":true}}`},
		{"not without a stream", ChatCompletions, `{"model":"a","stream":false}`, `{"model":"m-1","stream":false}`},
		{"not where it comes by itself", Responses, `{"model":"a","stream":true}`, `{"model":"m-1","stream":true}`},
		{"bytes that are no UTF-8 stay", ChatCompletions, "{\"model\":\"\xff\",\"messages\":\"a\xffb\"}", "{\"model\":\"m-1\",\"messages\":\"a\xffb\"}"},
		{"no model is left of two", ChatCompletions, `{"model":"a","model":"b"}`, `{"model":"m-1","model":"m-1"}`},
		{"nothing is changed that is opaque", PlainHTTP, `{"model":`, `{"model":`},
	} {
		q, err := Parse(c.api, []byte(c.body))
		if err != nil {
			t.Fatal(err)
		}
		got, err := q.Body("m-1", true)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v, want %s", c.rule, got, err, c.want)
		}
		if string(q.Raw()) != c.body {
			t.Errorf("%s: raw is %s", c.rule, q.Raw())
		}
	}
}

func TestUsageIsNotAskedForWhereThatIsRefused(t *testing.T) {
	for body, want := range map[string]string{
		`{"stream":true}`:             `{"stream":true,"model":"m-1"}`,
		`{"model":"a","stream":true}`: `{"model":"m-1","stream":true}`,
		`{"model":"a","stream":true,"stream_options":{"include_usage":false}}`: `{"model":"m-1","stream":true,"stream_options":{"include_usage":false}}`,
		`{"model":"a","stream":true,"stream_options":{"include_usage":true}}`:  `{"model":"m-1","stream":true,"stream_options":{"include_usage":true}}`,
	} {
		q, err := Parse(ChatCompletions, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := q.Body("m-1", false); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", body, got, err, want)
		}
	}
}

func TestAModelMayHaveAnyName(t *testing.T) {
	q, err := Parse(ChatCompletions, []byte(`{"model":"a"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"org/m:latest", `a"b\`, "é<\n>"} {
		var sent struct{ Model string }
		body, err := q.Body(name, true)
		if err != nil || json.Unmarshal(body, &sent) != nil || sent.Model != name {
			t.Errorf("%q: %s, %v", name, body, err)
		}
	}
	if body, err := q.Body("", true); err == nil {
		t.Errorf("none: %s", body)
	}
}

func TestAPIsHaveNamesAndPaths(t *testing.T) {
	for api := NoAPI; api < apis; api++ {
		if got := ParseAPI(api.String()); got != api {
			t.Errorf("%q: %d, want %d", api, got, api)
		}
		if got := APIOf("/v1" + apiPaths[api]); apiPaths[api] != "" && got != api {
			t.Errorf("%s: %v", apiPaths[api], got)
		}
	}
	for _, path := range []string{"", "/", "/v1/chat", "/v1/messages/count_tokens", "/v1/responses/", "/v1/threads/thread_1/messages", "/channels/1/messages"} {
		if got := APIOf(path); got != NoAPI {
			t.Errorf("%s: %v", path, got)
		}
	}
	if got := ParseAPI("openai.completions"); got != NoAPI {
		t.Errorf("an unknown one: %v", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(byte(1), []byte(`{"model":"a","stream":true,"messages":[{"role":"user","content":[{"type":"image_url"}]}],"max_tokens":5}`))
	f.Add(byte(1), []byte(`{"stream":true,"stream_options":{"x":null,"include_usage":false},"stream":true}`))
	f.Add(byte(2), []byte(`{"input":[{"content":"x"}],"text":{"format":{"type":"json_schema"}},"model":null}`))
	f.Add(byte(3), []byte(`{"input":[[1,2],[3]]}`))
	f.Add(byte(4), []byte(`{"system":"s","messages":[],"model":"a","model":"b"}`))
	f.Fuzz(func(t *testing.T, api byte, body []byte) {
		q, err := Parse(API(api%byte(apis)), body)
		if err != nil {
			return
		}
		sent, err := q.Body("m-1", true)
		if err != nil {
			t.Fatal(err)
		}
		if q.API == PlainHTTP {
			return
		}
		was, is := members(t, body), members(t, sent)
		if string(is["model"]) != `"m-1"` {
			t.Errorf("model %s", is["model"])
		}
		if q.API == ChatCompletions && q.Stream {
			checkOptions(t, was["stream_options"], is["stream_options"])
			delete(was, "stream_options")
			delete(is, "stream_options")
		}
		delete(was, "model")
		delete(is, "model")
		if !reflect.DeepEqual(was, is) {
			t.Errorf("sent %s of %s", sent, body)
		}
		if q.Text < 0 || q.Media < 0 || q.MaxOutput < 0 || len(q.Prefix()) > maxPrefix || q.Text > int64(len(body)) {
			t.Errorf("%+v", q)
		}
	})
}

func members(t *testing.T, body []byte) (m map[string]json.RawMessage) {
	t.Helper()
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatalf("%q: %v", body, err)
	}
	return m
}

// checkOptions holds that usage is asked for and nothing else has changed.
func checkOptions(t *testing.T, was, is json.RawMessage) {
	t.Helper()
	before, after := map[string]json.RawMessage{}, members(t, is)
	if !null(was) {
		before = members(t, was)
	}
	if string(after["include_usage"]) != "true" {
		t.Errorf("%s: usage is not asked for", is)
	}
	delete(before, "include_usage")
	delete(after, "include_usage")
	if !reflect.DeepEqual(before, after) {
		t.Errorf("options %s of %s", is, was)
	}
}
