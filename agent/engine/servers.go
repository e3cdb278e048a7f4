package engine

import "github.com/pointsman/pointsman/clientlib/route"

// pages are how the load of each kind of server is read: from a page, the one before (nil: none)
// and the seconds between them.
var pages = map[string]func(p, was page, seconds float64) route.EngineLoad{"vllm": vllm, "sglang": sglang}

// wanted are the names that pages look for; names are matched whole.
var wanted = setOf(
	"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:num_requests_waiting_by_reason",
	"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc",
	"vllm:prompt_tokens_total", "vllm:prompt_tokens_cached_total", "vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total",
	"vllm:generation_tokens_total",
	"sglang:num_running_reqs", "sglang:num_queue_reqs", "sglang:num_prefill_prealloc_queue_reqs", "sglang:num_prefill_inflight_queue_reqs",
	"sglang:num_decode_prealloc_queue_reqs", "sglang:num_decode_transfer_queue_reqs", "sglang:token_usage",
	"sglang:prompt_tokens_total", "sglang:cached_tokens_total", "sglang:generation_tokens_total",
)

func setOf(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// vllm sums over its engines and looks at the fullest cache. Where reasons are told, only what
// waits for capacity waits: long prompts are deferred without any shortage.
func vllm(p, was page, seconds float64) route.EngineLoad {
	waiting := p["vllm:num_requests_waiting"]
	if short := where(p["vllm:num_requests_waiting_by_reason"], "reason", "capacity"); len(short) > 0 {
		waiting = short
	}
	cached := func(p page) []sample {
		return p.first("vllm:prompt_tokens_cached_total", "vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total")
	}
	return route.EngineLoad{
		Running: sum(p["vllm:num_requests_running"]), Waiting: sum(waiting),
		KVUsed:    share(worst(p.first("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"))),
		PromptTPS: rate(seconds, p["vllm:prompt_tokens_total"], was["vllm:prompt_tokens_total"], cached(p), cached(was)),
		OutputTPS: rate(seconds, p["vllm:generation_tokens_total"], was["vllm:generation_tokens_total"], nil, nil),
	}
}

// sglang tells its gauges by rank: those of one scheduler are the same thing told twice. When
// prefill and decode are apart, requests wait in other queues too.
func sglang(p, was page, seconds float64) route.EngineLoad {
	waiting := sum(once(p["sglang:num_queue_reqs"]))
	for _, queue := range []string{"prefill_prealloc", "prefill_inflight", "decode_prealloc", "decode_transfer"} {
		if n := sum(once(p["sglang:num_"+queue+"_queue_reqs"])); n > 0 {
			waiting = max(waiting, 0) + n
		}
	}
	return route.EngineLoad{
		Running: sum(once(p["sglang:num_running_reqs"])), Waiting: waiting,
		KVUsed:    share(worst(p["sglang:token_usage"])),
		PromptTPS: rate(seconds, p["sglang:prompt_tokens_total"], was["sglang:prompt_tokens_total"], total(p["sglang:cached_tokens_total"]), total(was["sglang:cached_tokens_total"])),
		OutputTPS: rate(seconds, p["sglang:generation_tokens_total"], was["sglang:generation_tokens_total"], nil, nil),
	}
}

// once keeps the largest of what the ranks of one scheduler tell.
func once(all []sample) []sample {
	most := map[string]sample{}
	for _, s := range all {
		labels := make(map[string]string, len(s.labels))
		for k, v := range s.labels {
			if k != "tp_rank" && k != "pp_rank" && k != "moe_ep_rank" {
				labels[k] = v
			}
		}
		key := join(labels)
		if had, ok := most[key]; !ok || s.value > had.value {
			most[key] = s
		}
	}
	out := make([]sample, 0, len(most))
	for _, s := range most {
		out = append(out, s)
	}
	return out
}

// total is what is told as the total of all sources, if it is; else all of them.
func total(all []sample) []sample {
	if whole := where(all, "cache_source", "total"); len(whole) > 0 {
		return whole
	}
	return all
}

// rate is the growth of a counter a second, without that of what is not to be counted.
func rate(seconds float64, now, was, lessNow, lessWas []sample) float64 {
	grew, known := growth(now, was)
	if !known || seconds <= 0 {
		return route.Absent
	}
	less, _ := growth(lessNow, lessWas)
	return max(grew-less, 0) / seconds
}
