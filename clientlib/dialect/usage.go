package dialect

import "github.com/pointsman/pointsman/clientlib/route/money"

// usage is what an answer says it used. Cached and written tokens are inside the prompt's.
type usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Details    struct {
		Cached  int64 `json:"cached_tokens"`
		Written int64 `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
}

// maxTokens bounds what an answer can have used: sums of it stay in range.
const maxTokens = 1 << 30

// money is the usage with numbers that fit each other, whatever was sent.
func (u *usage) money() money.Usage {
	input := min(max(u.Prompt, 0), maxTokens)
	cached := min(max(u.Details.Cached, 0), input)
	return money.Usage{
		Input:   input,
		Cached:  cached,
		Written: min(max(u.Details.Written, 0), input-cached),
		Output:  min(max(u.Completion, 0), maxTokens),
	}
}
