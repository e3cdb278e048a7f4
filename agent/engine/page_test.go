package engine

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pointsman/pointsman/clientlib/route"
)

const unknown = route.Absent

func pageOf(t testing.TB, text string) page {
	t.Helper()
	p, err := parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func file(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func check(t *testing.T, what string, got, want route.EngineLoad) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

// later is a page with numbers replaced.
func later(text string, changes ...string) string {
	return strings.NewReplacer(changes...).Replace(text)
}

// Two engines: requests are summed, of caches the fullest counts, and what only waits by the
// scheduler's will does not wait. A name that is the beginning of another is not it.
func TestVLLMWithTwoEngines(t *testing.T) {
	text := file(t, "vllm.prom")
	first := pageOf(t, text)
	check(t, "first", vllm(first, nil, 0), route.EngineLoad{Running: 78, Waiting: 9, KVUsed: 0.8731, PromptTPS: unknown, OutputTPS: unknown})
	second := pageOf(t, later(text, "vllm:generation_tokens_total{engine=\"0\",model_name=\"meta-llama/Llama-3.1-8B-Instruct\"} 402880.0", "vllm:generation_tokens_total{engine=\"0\",model_name=\"meta-llama/Llama-3.1-8B-Instruct\"} 404880.0"))
	if got := vllm(second, first, 2).OutputTPS; got != 1000 {
		t.Errorf("%g output tokens a second", got)
	}
}

func TestVLLMBeforeItsMetricsWereRenamed(t *testing.T) {
	p := pageOf(t, file(t, "vllm-v0.prom"))
	check(t, "first", vllm(p, p, 2), route.EngineLoad{Running: 18, Waiting: 2, KVUsed: 0.4127, PromptTPS: unknown, OutputTPS: unknown})
}

func TestSGLang(t *testing.T) {
	text := file(t, "sglang.prom")
	first := pageOf(t, text)
	check(t, "first", sglang(first, nil, 0), route.EngineLoad{Running: 48, Waiting: 7, KVUsed: 0.2673, PromptTPS: unknown, OutputTPS: unknown})
	second := pageOf(t, later(text, "5.310442e+06", "5.310942e+06", "2.01883e+06", "2.01893e+06", "1.204118e+06", "1.204318e+06"))
	check(t, "second", sglang(second, first, 2), route.EngineLoad{Running: 48, Waiting: 7, KVUsed: 0.2673, PromptTPS: 200, OutputTPS: 100})
}

func TestRanksOfOneSchedulerAreOneSchedulerAndItsQueuesAddUp(t *testing.T) {
	p := pageOf(t, `
sglang:num_running_reqs{dp_rank="0",tp_rank="0"} 10
sglang:num_running_reqs{dp_rank="0",tp_rank="1"} 10
sglang:num_running_reqs{dp_rank="1",tp_rank="0"} 4
sglang:num_queue_reqs{dp_rank="0",tp_rank="0"} 0
sglang:num_decode_prealloc_queue_reqs{dp_rank="0",tp_rank="0"} 5
sglang:num_decode_transfer_queue_reqs{dp_rank="0",tp_rank="0"} 2
`)
	if got := sglang(p, nil, 0); got.Running != 14 || got.Waiting != 7 {
		t.Errorf("%+v", got)
	}
}

// A missing metric, or one that cannot be, is not zero.
func TestUnknownIsNotZero(t *testing.T) {
	nothing := route.EngineLoad{Running: unknown, Waiting: unknown, KVUsed: unknown, PromptTPS: unknown, OutputTPS: unknown}
	for name, text := range map[string]string{
		"an empty page": "", "others only": "vllm:num_requests_waiting_by_reasons 5\nsglang:num_queue_req 5\n",
		"no numbers": "vllm:num_requests_running NaN\nvllm:num_requests_waiting +Inf\nvllm:kv_cache_usage_perc -1\nsglang:num_running_reqs -1\n",
		"too full":   "vllm:kv_cache_usage_perc 1.5\nsglang:token_usage 93\n",
	} {
		p := pageOf(t, text)
		check(t, name+": vllm", vllm(p, p, 2), nothing)
		check(t, name+": sglang", sglang(p, p, 2), nothing)
	}
	idle := pageOf(t, "vllm:num_requests_running 0\n")
	if got := vllm(idle, idle, 2); got.Running != 0 || got.Waiting != unknown {
		t.Errorf("an idle one: %+v", got)
	}
}

// After a restart counters begin anew: one engine's does not make a flood of the sum.
func TestCountersThatBeganAnewGrewByWhatTheyAre(t *testing.T) {
	was := pageOf(t, "vllm:generation_tokens_total{engine=\"0\"} 1e9\nvllm:generation_tokens_total{engine=\"1\"} 1e9\n")
	now := pageOf(t, "vllm:generation_tokens_total{engine=\"0\"} 60\nvllm:generation_tokens_total{engine=\"1\"} 1000000140\n")
	if got := vllm(now, was, 2).OutputTPS; got != 100 {
		t.Errorf("%g tokens a second", got)
	}
	joined := pageOf(t, "vllm:generation_tokens_total{engine=\"0\"} 1e9\nvllm:generation_tokens_total{engine=\"2\"} 5e9\n")
	if got := vllm(joined, was, 2).OutputTPS; got != 0 {
		t.Errorf("%g tokens a second because an engine came", got)
	}
	if got := vllm(was, nil, 2).OutputTPS; got != unknown {
		t.Errorf("%g of a first reading", got)
	}
}

func FuzzPages(f *testing.F) {
	for _, name := range []string{"vllm.prom", "vllm-v0.prom", "sglang.prom"} {
		f.Add([]byte(file(f, name)), []byte(file(f, name)))
	}
	f.Add([]byte("vllm:num_requests_running{a=\"\\\""), []byte("# TYPE vllm:prompt_tokens_total summary\n"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		was, _ := parse(a)
		p, err := parse(b)
		if err != nil {
			return
		}
		for name, read := range pages {
			l := read(p, was, 2)
			for _, v := range []float64{l.Running, l.Waiting, l.KVUsed, l.PromptTPS, l.OutputTPS} {
				if v != unknown && !(v >= 0 && v <= 1e21) {
					t.Fatalf("%s reads %g", name, v)
				}
			}
			if l.KVUsed > 1 {
				t.Fatalf("%s reads a cache of %g", name, l.KVUsed)
			}
		}
	})
}

// A page comes from whoever is at an address: however it is made, an agent must be able to read a
// thousand of its kind.
func TestAPageOfNoInterestTakesNoMemory(t *testing.T) {
	var names, samples strings.Builder
	for i := 0; names.Len() < mostPage-16; i++ {
		fmt.Fprintf(&names, "a%d 1\n", i)
	}
	for i := 0; samples.Len() < mostPage-100; i++ {
		fmt.Fprintf(&samples, "vllm:num_requests_running{engine=\"%d\"} 1\n", i)
	}
	names.WriteString("vllm:num_requests_running 1\n")
	var before, after runtime.MemStats
	text := []byte(names.String())
	runtime.ReadMemStats(&before)
	p, err := parse(text)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; err != nil || len(p) != 1 || took > mostPage/8 {
		t.Errorf("%d bytes were taken for a page of %d; %v", took, len(text), err)
	}
	if _, err := parse([]byte(samples.String())); err == nil {
		t.Errorf("all samples of a page of %d bytes are kept", samples.Len())
	}
}
