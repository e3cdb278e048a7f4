package dialect

import "github.com/pointsman/pointsman/clientlib/route/money"

// maxTokens bounds what an answer can have used: sums of it stay in range.
const maxTokens = 1 << 30

// tokens is what an answer says it used, as it says it.
type tokens struct {
	input, output   int64
	cached, written int64 // inside the input
	read, created   int64 // of a cache, beside the input
	told            bool  // since told was last unset
}

// tokens reads a usage object. What it does not tell stays.
func (s *scanner) tokens(t *tokens) {
	for name := range s.members {
		switch string(name) {
		case "prompt_tokens", "input_tokens":
			t.set(&t.input, s.skip())
		case "completion_tokens", "output_tokens":
			t.set(&t.output, s.skip())
		case "prompt_tokens_details", "input_tokens_details":
			s.tokens(t)
		case "cached_tokens", "prompt_cache_hit_tokens": // the latter: DeepSeek
			t.set(&t.cached, s.skip())
		case "cache_write_tokens":
			t.set(&t.written, s.skip())
		case "cache_read_input_tokens":
			t.set(&t.read, s.skip())
		case "cache_creation_input_tokens":
			t.set(&t.created, s.skip())
		default:
			s.skip()
		}
	}
}

func (t *tokens) set(to *int64, raw []byte) {
	if n, whole := readWhole(raw); whole {
		*to, t.told = n, true
	}
}

// money is the usage with numbers that fit each other, whatever was sent.
func (t *tokens) money(api API) money.Usage {
	input, cached, written := within(t.input, maxTokens), t.cached, t.written
	if api == Messages {
		cached, written = within(t.read, maxTokens), within(t.created, maxTokens)
		input = within(input+cached+written, maxTokens)
	}
	cached = within(cached, input)
	return money.Usage{
		Input:   input,
		Cached:  cached,
		Written: within(written, input-cached),
		Output:  within(t.output, maxTokens),
	}
}

func within(n, most int64) int64 { return min(max(n, 0), most) }
