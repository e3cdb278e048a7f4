package dialect

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestWhatAChatNeeds(t *testing.T) {
	image := `{"type":"image_url","image_url":{"url":"data:image/png;base64,` + strings.Repeat("A", 400_000) + `"}}`
	for _, c := range []struct {
		rule, body string
		want       Chat
	}{
		{"a plain one needs nothing", `{"model":"chat","messages":[]}`, Chat{Model: "chat", Input: 1}},
		{"a stream", `{"stream":true}`, Chat{Stream: true, Needs: []string{"stream"}}},
		{"tools", `{"tools":[{"type":"function"}]}`, Chat{Needs: []string{"tools"}, Input: 6}},
		{"no tools", `{"tools":[],"functions":null}`, Chat{Input: 1}},
		{"functions, as they were called", `{"functions":[{}]}`, Chat{Needs: []string{"tools"}}},
		{"a schema", `{"response_format":{"type":"json_schema","json_schema":{}}}`, Chat{Needs: []string{"json_schema"}}},
		{"any JSON", `{"response_format":{"type":"json_object"}}`, Chat{Needs: []string{"json_schema"}}},
		{"text", `{"response_format":{"type":"text"}}`, Chat{}},
		{"an image, whose bytes are no tokens", `{"messages":[{"content":[` + image + `]}]}`, Chat{Needs: []string{"vision"}, Input: 1004}},
		{"a sound", `{"messages":["odd",{"content":[1,{"type":"input_audio"}]}]}`, Chat{Needs: []string{"audio"}, Input: 1006}},
		{"the newer limit wins", `{"max_tokens":5,"max_completion_tokens":7}`, Chat{MaxOutput: 7}},
		{"nulls are absent", `{"model":null,"stream":null,"max_tokens":null,"stream_options":null}`, Chat{}},
		{"usage that the caller wants", `{"stream":true,"stream_options":{"include_usage":true}}`, Chat{Stream: true, Usage: true, Needs: []string{"stream"}}},
		{"only exact names count", `{"Stream":true,"MODEL":"x"}`, Chat{}},
		{"inside too", `{"stream":true,"stream_options":{"Include_Usage":true},"response_format":{"TYPE":"json_object"}}`, Chat{Stream: true, Needs: []string{"stream"}}},
		{"no other case hides an image", `{"messages":[{"content":[{"type":"image_url","Type":"text"}],"Content":"x"}]}`, Chat{Needs: []string{"vision"}, Input: 1008}},
		{"an answer as sound", `{"modalities":["text","audio"]}`, Chat{Needs: []string{"audio"}}},
		{"the last of two wins", `{"model":"a","model":"b"}`, Chat{Model: "b"}},
	} {
		got, err := ParseChat([]byte(c.body))
		if err != nil {
			t.Errorf("%s: %v", c.rule, err)
			continue
		}
		if diff := cmp.Diff(c.want, *got, cmpopts.IgnoreUnexported(Chat{}), cmpopts.IgnoreFields(Chat{}, "Prefix"), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s:\n%s", c.rule, diff)
		}
	}
}

func TestAPrefixIsHowTheMessagesBegin(t *testing.T) {
	long := `[{"role":"system","content":"` + strings.Repeat("x", maxPrefix) + `"}]`
	for body, want := range map[string]string{
		`{"model":"m"}`: "",
		`{"messages":[{"content":"hi"}],"tools":[{}]}`: `[{"content":"hi"}]`,
		`{"messages":` + long + `}`:                    long[:maxPrefix],
	} {
		if c, err := ParseChat([]byte(body)); err != nil || c.Prefix != want {
			t.Errorf("%.40s: %v, %.40s", body, err, c.Prefix)
		}
	}
}

func TestChatsThatCannotBeRouted(t *testing.T) {
	for body, want := range map[string]string{
		`null`:                               "the body is not a JSON object",
		`{"model":"x"`:                       "the body is not a JSON object",
		`{"model":7,"stream":"yes"}`:         "model: want a string\nstream: want true or false",
		`{"max_tokens":-1}`:                  "max_tokens: want 0 or more, got -1",
		`{"max_tokens":9223372036854775808}`: "max_tokens: want a whole number",
		`{"model":"x"} {}`:                   "the body is not a JSON object",
		`{"a":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`: "the body is not a JSON object",
		`{"max_tokens":1.5}`:                   "max_tokens: want a whole number",
		`{"stream":true,"stream_options":[1]}`: "stream_options: want an object",
	} {
		if _, err := ParseChat([]byte(body)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}

func TestWhatIsSent(t *testing.T) {
	for _, c := range []struct{ rule, body, want string }{
		{"the model is the provider's", `{"model":"chat","seed":12345678901234567890}`, `{"model":"m-1","seed":12345678901234567890}`},
		{"a model that came in a header", `{"messages":["<&>"]}`, `{"messages":["<&>"],"model":"m-1"}`},
		{"usage is asked for", `{"stream":true}`, `{"model":"m-1","stream":true,"stream_options":{"include_usage":true}}`},
		{"beside other options", `{"stream":true,"stream_options":{"x":1,"include_usage":false}}`, `{"model":"m-1","stream":true,"stream_options":{"include_usage":true,"x":1}}`},
		{"not twice", `{"stream":true,"stream_options":{"include_usage":true}}`, `{"model":"m-1","stream":true,"stream_options":{"include_usage":true}}`},
		{"also where it was asked for in another case", `{"stream":true,"stream_options":{"INCLUDE_USAGE":true}}`, `{"model":"m-1","stream":true,"stream_options":{"INCLUDE_USAGE":true,"include_usage":true}}`},
		{"or as no truth", `{"stream":true,"stream_options":{"include_usage":"yes"}}`, `{"model":"m-1","stream":true,"stream_options":{"include_usage":true}}`},
		{"bytes that are no UTF-8 stay", "{\"messages\":\"a\xffb\"}", "{\"messages\":\"a\xffb\",\"model\":\"m-1\"}"},
		{"not without a stream", `{"stream":false}`, `{"model":"m-1","stream":false}`},
		{"two models become one", `{"model":"a","model":"b"}`, `{"model":"m-1"}`},
	} {
		chat, err := ParseChat([]byte(c.body))
		if err != nil {
			t.Fatal(err)
		}
		got, err := chat.Body("m-1")
		if err != nil || strings.TrimSpace(string(got)) != c.want {
			t.Errorf("%s: %s, %v, want %s", c.rule, got, err, c.want)
		}
	}
}

func TestChatURL(t *testing.T) {
	for base, want := range map[string]string{
		"https://api.example/v1":  "https://api.example/v1/chat/completions",
		"https://api.example/v1/": "https://api.example/v1/chat/completions",
		"http://127.0.0.1:8000":   "http://127.0.0.1:8000/chat/completions",
	} {
		if u, err := ChatURL(base); err != nil || u.String() != want {
			t.Errorf("%s: %v, %v, want %s", base, u, err, want)
		}
	}
	if u, err := ChatURL("http://a b/"); err == nil {
		t.Errorf("no address: %v", u)
	}
}
