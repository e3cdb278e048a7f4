package measure

import (
	"encoding/json"
	"math"
)

// Number is a float in JSON: six figures that matter, and null for what is no number or has
// no bound.
type Number float64

// MarshalJSON writes it.
func (n Number) MarshalJSON() ([]byte, error) {
	v := float64(n)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(round(v))
}

// round keeps six figures, and all before the point.
func round(v float64) float64 {
	if v == 0 || math.Abs(v) >= 1e6 {
		return math.Round(v)
	}
	scale := math.Pow(10, float64(5-int(math.Floor(math.Log10(math.Abs(v))))))
	return math.Round(v*scale) / scale
}

type timesJSON struct {
	Mean Number `json:"mean"`
	P50  Number `json:"p50"`
	P90  Number `json:"p90"`
	P95  Number `json:"p95"`
	P99  Number `json:"p99"`
	P999 Number `json:"p999"`
	Max  int64  `json:"max"`
}

// MarshalJSON writes what is asked of it most, in µs; null where there are none.
func (t *Times) MarshalJSON() ([]byte, error) {
	if t.count == 0 {
		return []byte("null"), nil
	}
	q := func(p float64) Number { return Number(t.Quantile(p)) }
	return json.Marshal(timesJSON{Number(t.Mean()), q(0.5), q(0.9), q(0.95), q(0.99), q(0.999), t.max})
}

type measuresJSON struct {
	Name string `json:"name,omitempty"`
	Counts
	Tokens
	Cost  json.Number `json:"cost_usd"`
	TTFT  *Times      `json:"ttft_us"`
	Total *Times      `json:"total_us"`
	Queue *Times      `json:"queue_us"`
	Each  *Times      `json:"token_us"`
}

func (m *Measures) encoded(name string) measuresJSON {
	out := measuresJSON{
		Name: name, Counts: m.Counts, Tokens: m.Tokens, Cost: json.Number(m.Cost.String()),
		TTFT: &m.TTFT, Total: &m.Total, Queue: &m.Queue, Each: &m.Each,
	}
	out.Sheds, out.Failures = filled(m.Sheds), filled(m.Failures)
	return out
}

func filled(kinds map[string]int64) map[string]int64 {
	if kinds == nil {
		return map[string]int64{}
	}
	return kinds
}

func encodeAll(parts []Named) []measuresJSON {
	out := make([]measuresJSON, len(parts))
	for i := range parts {
		out[i] = parts[i].encoded(parts[i].Name)
	}
	return out
}

type binJSON struct {
	From     int64   `json:"from_us"`
	Calls    int64   `json:"calls"`
	Served   int64   `json:"served"`
	Failed   int64   `json:"failed"`
	P99      int64   `json:"ttft_p99_us"`
	Attempts []int64 `json:"attempts"`
}

type turnJSON struct {
	At       int64  `json:"at_us"`
	Endpoint string `json:"endpoint"`
	Kind     string `json:"kind"`
	Client   *int32 `json:"client,omitempty"` // the fleet's have none
	Evidence string `json:"evidence,omitempty"`
}

type faultJSON struct {
	Name      string   `json:"name"`
	From      int64    `json:"from_us"`
	To        int64    `json:"to_us"`
	Endpoints []string `json:"endpoints"`
	Avoided   *int64   `json:"avoided_us"` // null: never
	Failed    int64    `json:"failed"`
	Returned  *int64   `json:"returned_us"`
}

type limitsJSON struct {
	Zero   Number `json:"zero_ttft_us"`
	Pooled Number `json:"pooled_ttft_us"`
	Hits   Number `json:"possible_hits"`
}

type resultJSON struct {
	Policy   string `json:"policy"`
	Seed     uint64 `json:"seed"`
	Warmup   int64  `json:"warmup_us"`
	Duration int64  `json:"duration_us"`
	figuresJSON
	partsJSON
	Bins   []binJSON   `json:"bins"`
	Turns  []turnJSON  `json:"turns"`
	Faults []faultJSON `json:"faults"`
	Limits limitsJSON  `json:"limits"`
	Events int64       `json:"events"`
}

type figuresJSON struct {
	Goodput       Number `json:"goodput_per_s"`
	GoodputTokens Number `json:"goodput_tokens_per_s"`
	HitRate       Number `json:"hit_rate"`
	Fairness      Number `json:"fairness"`
	WorstSlowdown Number `json:"worst_slowdown"` // null: somebody was not served at all
}

type partsJSON struct {
	All       measuresJSON   `json:"all"`
	Workloads []measuresJSON `json:"workloads"`
	Tenants   []measuresJSON `json:"tenants"`
	Endpoints []measuresJSON `json:"endpoints"`
}

// MarshalJSON writes it: times in µs, money in USD, the keys always in this order. The same
// result gives the same bytes.
func (r *Result) MarshalJSON() ([]byte, error) {
	out := resultJSON{
		Policy: r.Policy, Seed: r.Seed, Warmup: r.Warmup, Duration: r.Duration,
		figuresJSON: figuresJSON{
			Number(r.second(r.All.Served - r.All.Wrong)), Number(r.second(r.All.Output)),
			Number(over(r.All.Cached, r.All.Input)), Number(r.fairness()), Number(r.worstSlowdown()),
		},
		partsJSON: partsJSON{r.All.encoded(""), encodeAll(r.By.Workloads), encodeAll(r.By.Tenants), encodeAll(r.By.Endpoints)},
		Bins:      make([]binJSON, len(r.Bins)), Turns: make([]turnJSON, len(r.Turns)), Faults: make([]faultJSON, len(r.Faults)),
		Limits: limitsJSON{Number(r.Limits.ZeroTTFT), Number(r.Limits.PooledTTFT), Number(r.Limits.HitRate)}, Events: r.Events,
	}
	for i, b := range r.Bins {
		out.Bins[i] = binJSON(b)
	}
	for i, t := range r.Turns {
		out.Turns[i] = turnJSON{At: t.At, Endpoint: t.Endpoint, Kind: t.Kind, Client: ifThere(t.Client), Evidence: t.Evidence}
	}
	for i, f := range r.Faults {
		out.Faults[i] = faultJSON{f.Name, f.From, f.To, f.Endpoints, ifThere(f.Avoided), f.Failed, ifThere(f.Returned)}
	}
	return json.Marshal(out)
}

func ifThere[N int32 | int64](n N) *N {
	if n < 0 {
		return nil
	}
	return &n
}
