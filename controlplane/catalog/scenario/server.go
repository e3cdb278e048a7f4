package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pointsman/pointsman/controlplane/catalog"
	"github.com/pointsman/pointsman/controlplane/sim/server"
)

// change is one attribute of a server block, to be made to a model.
type change func(*server.Model)

// The attributes by what kind of server has them; the rest is of both.
var (
	ofOwn    = []string{"speed", "prefill_tps", "slots", "step", "step_each", "prefill_pace", "kv_tokens", "cache_tokens"}
	ofHosted = []string{"latency", "first", "each", "scale", "requests_per_minute", "tokens_per_minute", "concurrency", "refill", "burst"}
)

// servers makes a model for each endpoint out of the blocks whose patterns its name matches; of
// two that say the same, the later one holds.
func (r *reader) servers() {
	latencies, known := r.latencies()
	changes, blocks := map[string][]change{}, map[string]*catalog.Block{}
	for _, b := range r.root.All("server", 1) {
		list, ok := r.matching(b.Name())
		switch {
		case !ok:
			b.Fail(patternHint, "%s is no pattern", catalog.Quote(b.Name()))
		case len(list) == 0:
			b.Fail(r.nothing(b.Name()), "no endpoint's name matches %s", catalog.Quote(b.Name()))
		}
		made := slices.Concat(own(b), hosted(b), quality(b), fixed(b))
		if known {
			made = append(made, measured(b, latencies))
		} else {
			made = append(made, unknown(b))
		}
		for _, name := range list {
			changes[name], blocks[name] = append(changes[name], made...), b
		}
		b.Close()
	}
	for _, name := range r.endpointNames() {
		if b := blocks[name]; b != nil {
			r.model(b, name, changes[name])
		}
	}
}

// model puts a server together.
func (r *reader) model(b *catalog.Block, name string, changes []change) {
	m := server.Model{Own: &server.Own{}, Hosted: &server.Hosted{Phase: r.set.Scenario.Wall % time.Minute.Microseconds()}}
	for _, c := range changes {
		c(&m)
	}
	r.models[name] = m // wrong or not, it is there
	untouched := server.Own{}
	switch hosted := *m.Hosted != (server.Hosted{Phase: m.Hosted.Phase}); {
	case hosted && *m.Own != untouched:
		b.Fail(fmt.Sprintf("of one's own: %s; hosted: %s", strings.Join(ofOwn, ", "), strings.Join(ofHosted, ", ")), "endpoint %s is made both a server of one's own and a hosted one", catalog.Quote(name))
		return
	case hosted && m.Hosted.Latency == nil:
		b.Fail(`latency = "provider/model" of a file of latencies, or first and each`, "the hosted endpoint %s has no latency", catalog.Quote(name))
		return
	case hosted:
		m.Own = nil
	default:
		m.Hosted = nil
	}
	if err := m.Check(); err != nil {
		b.Fail("", "the server of endpoint %s is not right: %v", catalog.Quote(name), err)
	}
	r.models[name] = m
}

// measured is a latency from the file, by its name.
func measured(b *catalog.Block, latencies map[string]*server.Latency) change {
	var name string
	if !b.Choice("latency", slices.Sorted(maps.Keys(latencies)), &name) {
		return nothing
	}
	return func(m *server.Model) { m.Hosted.Latency = latencies[name] }
}

// unknown stands for one from a file that cannot be read, so that nothing more is said of it.
func unknown(b *catalog.Block) change {
	if !b.Text("latency", new(string)) {
		return nothing
	}
	return func(m *server.Model) { m.Hosted.Latency = &server.Latency{Rows: []server.Row{{First: 1, Each: 1}}} }
}

// fixed is a latency that is always the same.
func fixed(b *catalog.Block) []change {
	var first, each int64
	a := b.Duration("first", 0, time.Hour, &first)
	z := b.Duration("each", 0, time.Minute, &each)
	switch {
	case !a && !z:
		return nil
	case b.Has("latency"):
		b.Fail("take the one or the others", "both latency, and first and each")
	}
	row := server.Row{First: float64(first), Each: float64(each)}
	return []change{func(m *server.Model) { m.Hosted.Latency = &server.Latency{Rows: []server.Row{row}} }}
}

func own(b *catalog.Block) []change {
	return []change{
		number(b, "speed", between{0.001, 1000}, func(m *server.Model) *float64 { return &m.Own.Speed }),
		number(b, "prefill_tps", between{1, 1e9}, func(m *server.Model) *float64 { return &m.Own.PrefillTPS }),
		integer(b, "slots", 100_000, func(m *server.Model) *int { return &m.Own.Slots }),
		micros(b, "step", func(m *server.Model) *float64 { return &m.Own.Step }),
		micros(b, "step_each", func(m *server.Model) *float64 { return &m.Own.StepEach }),
		number(b, "prefill_pace", between{0.001, 1}, func(m *server.Model) *float64 { return &m.Own.PrefillPace }),
		count(b, "kv_tokens", func(m *server.Model) *int64 { return &m.Own.KVTokens }),
		count(b, "cache_tokens", func(m *server.Model) *int64 { return &m.Own.CacheTokens }),
	}
}

func hosted(b *catalog.Block) []change {
	return []change{
		number(b, "scale", between{0.001, 1000}, func(m *server.Model) *float64 { return &m.Hosted.Scale }),
		count(b, "requests_per_minute", func(m *server.Model) *int64 { return &m.Hosted.RequestsPerMinute }),
		count(b, "tokens_per_minute", func(m *server.Model) *int64 { return &m.Hosted.TokensPerMinute }),
		integer(b, "concurrency", 1_000_000, func(m *server.Model) *int { return &m.Hosted.Concurrency }),
		number(b, "burst", between{0.0001, 60}, func(m *server.Model) *float64 { return &m.Hosted.Burst }),
		refill(b),
	}
}

func refill(b *catalog.Block) change {
	var word string
	if !b.Choice("refill", []string{"continuous", "fixed"}, &word) {
		return nothing
	}
	return func(m *server.Model) { m.Hosted.Fixed = word == "fixed" }
}

func quality(b *catalog.Block) []change {
	return []change{
		number(b, "valid", between{0.001, 1}, func(m *server.Model) *float64 { return &m.Quality.Valid }),
		count(b, "valid_upto_tokens", func(m *server.Model) *int64 { return &m.Quality.UptoTokens }),
		number(b, "valid_beyond", between{0, 1}, func(m *server.Model) *float64 { return &m.Quality.Beyond }),
	}
}

func nothing(*server.Model) {}

// between is the least and the most of a number.
type between [2]float64

func number(b *catalog.Block, name string, within between, at func(*server.Model) *float64) change {
	var v float64
	if !b.Number(name, within[0], within[1], &v) {
		return nothing
	}
	return func(m *server.Model) { *at(m) = v }
}

func count(b *catalog.Block, name string, at func(*server.Model) *int64) change {
	var v int64
	if !b.Whole(name, 1, 1_000_000_000_000, &v) {
		return nothing
	}
	return func(m *server.Model) { *at(m) = v }
}

func integer(b *catalog.Block, name string, hi int64, at func(*server.Model) *int) change {
	var v int64
	if !b.Whole(name, 1, hi, &v) {
		return nothing
	}
	return func(m *server.Model) { *at(m) = int(v) }
}

func micros(b *catalog.Block, name string, at func(*server.Model) *float64) change {
	var v int64
	if !b.Duration(name, time.Microsecond, time.Minute, &v) {
		return nothing
	}
	return func(m *server.Model) { *at(m) = float64(v) }
}
