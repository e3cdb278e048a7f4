package dialect

import "github.com/pointsman/pointsman/clientlib/route/money"

// maxTokens bounds what an answer can have used: sums of it stay in range.
const maxTokens = 1 << 30

// tokens is what an answer says it used, as it says it.
type tokens struct {
	counts
	total           int64
	cached, written int64  // inside the input
	compaction      counts // in none of the others
	kind            []byte // of a round
	told            bool   // since told was last unset
}

type counts struct {
	input, output int64
	read, created int64 // of a cache, beside the input
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
		case "total_tokens":
			t.total, _ = readWhole(s.skip())
		case "iterations":
			t.compaction = s.compaction()
		case "type":
			t.kind = s.word()
		default:
			s.skip()
		}
	}
}

// compaction reads the rounds that made an answer of Anthropic's: those that shortened the
// conversation are in no other count.
func (s *scanner) compaction() (all counts) {
	for range s.elements {
		var round tokens
		if s.tokens(&round); string(round.kind) == "compaction" {
			all.input += within(round.input, maxTokens)
			all.output += within(round.output, maxTokens)
			all.read += within(round.read, maxTokens)
			all.created += within(round.created, maxTokens)
		}
	}
	return all
}

func (t *tokens) set(to *int64, raw []byte) {
	if n, whole := readWhole(raw); whole {
		*to, t.told = n, true
	}
}

// money is the usage with numbers that fit each other, whatever was sent.
func (t *tokens) money(api API) money.Usage {
	input, cached, written := within(t.input, maxTokens), t.cached, t.written
	output := within(t.output, maxTokens)
	switch more := &t.compaction; api {
	case Messages:
		cached, written = within(t.read, maxTokens)+more.read, within(t.created, maxTokens)+more.created
		input, output = within(input+more.input+cached+written, maxTokens), output+more.output
	case ChatCompletions: // xAI and Gemini leave reasoning out of the output, not out of the total
		output = max(output, within(t.total, maxTokens)-input)
	}
	cached = within(cached, input)
	return money.Usage{
		Input:   input,
		Cached:  cached,
		Written: within(written, input-cached),
		Output:  within(output, maxTokens),
	}
}

func within(n, most int64) int64 { return min(max(n, 0), most) }
