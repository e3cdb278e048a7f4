package server

// Own is an engine of one's own. Zero is the default of each.
//
// A request waits, in order, until a slot and memory for it are free; its prefill runs alone
// and gives the first token; then it is decoded together with the others, all at one pace.
type Own struct {
	PrefillTPS  float64 // prompt tokens a second at speed 1
	Speed       float64 // of all that it does, next to a usual one's
	Slots       int     // sequences that are decoded together
	Step        float64 // µs a token of every sequence takes,
	StepEach    float64 // and µs more for each of them; a trifle above 0: nothing
	PrefillPace float64 // of decoding while a prefill runs: 0 to 1
	KVTokens    int64   // memory for the prompts and answers under way; 0: enough
	CacheTokens int64   // of prompts that are kept, apart from that memory; 0: none are
}

// The defaults (research of 2026, the model that the strategies' constants are of).
const (
	defaultPrefillTPS  = 10_000.0
	defaultSlots       = 32
	defaultStep        = 15_000.0
	defaultStepEach    = 300.0
	defaultPrefillPace = 0.6
)

func (o *Own) resolved() Own {
	return Own{
		PrefillTPS: or(o.PrefillTPS, defaultPrefillTPS), Speed: or(o.Speed, 1), Slots: or(o.Slots, defaultSlots),
		Step: or(o.Step, defaultStep), StepEach: or(o.StepEach, defaultStepEach), PrefillPace: or(o.PrefillPace, defaultPrefillPace),
		KVTokens: or(o.KVTokens, Never), CacheTokens: o.CacheTokens,
	}
}

// Rate is its prefill, in tokens a µs.
func (o *Own) Rate() float64 {
	is := o.resolved()
	return is.PrefillTPS * is.Speed / second
}

func (o *Own) check(f *findings) {
	f.positive("prefill_tps", o.PrefillTPS)
	f.positive("speed", o.Speed)
	f.count("slots", int64(o.Slots))
	f.positive("step", o.Step)
	f.positive("step_each", o.StepEach)
	f.part("prefill_pace", o.PrefillPace)
	f.count("kv_tokens", o.KVTokens)
	f.count("cache_tokens", o.CacheTokens)
	if o.CacheTokens > 0 && o.CacheTokens < blockTokens {
		f.add("cache_tokens: %d keep nothing: a block is %d", o.CacheTokens, blockTokens)
	}
}

// capacity is where either all slots decode, at a pace that the prefills take their part of,
// or prefills never rest.
func (o *Own) capacity(input, output float64) float64 {
	m := o.resolved()
	slots := float64(m.Slots)
	if o.KVTokens > 0 {
		slots = max(1, min(slots, float64(o.KVTokens)/(input+output)))
	}
	prefill := input / (m.PrefillTPS * m.Speed)                                // seconds of a request
	steps := max(output-1, 0)                                                  // the prefill gives the first token
	decode := steps * (m.Step + m.StepEach*slots) / second / (slots * m.Speed) // seconds of a request, all slots in use
	return 1 / max(decode+(1-m.PrefillPace)*prefill, prefill, 1.0/second)      // a µs at least: it may ask for nothing
}

// own is such an engine at work.
type own struct {
	engine
	cache cache
	draft ends // a prediction's; kept for its memory
}

func newOwn(o *Own) *own {
	m := o.resolved()
	w := &own{engine: engine{spec: m, filled: Never}, cache: newCache(m.CacheTokens / blockTokens)}
	w.batch.due = Never
	w.hasten(0, 1)
	return w
}

// take looks the prompt up when it comes and not when its prefill begins: requests are filled
// in the order in which they come, so that those ahead of it will have left there what they
// bring.
func (w *own) take(now int64, j *Job) verdict {
	if !w.size(j) {
		return tooLong
	}
	w.fit(j, w.cache.hits(j.Blocks, reusable(j)))
	w.cache.use(j.Blocks[:whole(j)], j.serial)
	w.queue.add(j)
	w.wake(now)
	return served
}

// size finds what a job takes beside its prompt, and whether it fits in at all.
func (w *own) size(j *Job) bool {
	j.memory = j.Input + j.Output // reserved at once, as engines do that never evict a sequence
	j.rest = float64(max(j.Output-1, 0))
	if j.verdict == cut {
		j.rest = float64(max(j.Output-1, 0) / 2)
	}
	return j.memory <= w.spec.KVTokens
}

// fit finds what is left to compute when so many leading blocks are there.
func (w *own) fit(j *Job, hits int) {
	j.Cached = int64(hits) * blockTokens
	j.work = float64(j.Input - j.Cached)
}

func (w *own) drop(now int64, j *Job) {
	switch {
	case j.phase == answering:
		w.leave(now, j)
	case w.filling == j:
		w.disown(j, w.computed(now, j))
		w.stop(now, j)
	default:
		w.disown(j, 0)
		w.queue.remove(j)
		w.wake(now)
	}
}

// computed is how many of its blocks are in the cache by now.
func (w *own) computed(now int64, j *Job) int {
	left := float64(w.filled-now) * w.rate
	return int(max(0, float64(j.Input)-left) / blockTokens)
}

// disown takes what a job will not compute out of the cache. The first of those behind it
// that needs a block computes it in its place.
func (w *own) disown(j *Job, computed int) {
	blocks := j.Blocks[:whole(j)]
	for _, b := range blocks[:min(computed, len(blocks))] {
		w.cache.owned(b, j.serial, 0)
	}
	for k := w.heir(j); k != nil; k = k.behind {
		hits := int(k.Cached / blockTokens)
		for i, b := range k.Blocks[:whole(k)] {
			if w.cache.owned(b, j.serial, k.serial) {
				hits = min(hits, i)
			}
		}
		w.fit(k, hits)
	}
	for _, b := range blocks {
		w.cache.forget(b, j.serial)
	}
}

// heir is who is next behind a job that has no first token yet.
func (w *own) heir(j *Job) *Job {
	if w.filling == j {
		return w.queue.head
	}
	return j.behind
}

func (w *own) reset(jobs []*Job) []*Job {
	w.cache.clear()
	return w.clear(jobs)
}

// whole is how many of a prompt's blocks are full: others cannot be kept.
func whole(j *Job) int { return min(int(j.Input/blockTokens), len(j.Blocks)) }

// reusable is how many of them spare it work: the last token is always computed, as the
// first of the answer comes of it.
func reusable(j *Job) int { return min(int(max(j.Input-1, 0)/blockTokens), len(j.Blocks)) }

// predict plays a copy of the engine until the job's end.
func (w *own) predict(now int64, j *Job) (first, total int64) {
	if !w.size(j) {
		return Never, Never
	}
	w.fit(j, w.cache.hits(j.Blocks, reusable(j)))
	p := w.engine
	p.batch.ends = append(w.draft[:0], p.batch.ends...)
	p.guest = j
	p.wake(now)
	first, total = Never, Never
	for p.due() < Never && total == Never {
		switch k, begins := p.step(); {
		case k != j:
		case begins:
			first = p.batch.at - now
		default:
			total = p.batch.at - now
		}
	}
	w.draft = p.batch.ends
	return first, total
}

// predictFirst adds prefills up as long as no slot or memory can be missing.
func (w *own) predictFirst(now int64, j *Job) int64 {
	slots, memory := w.spec.Slots-len(w.batch.ends), w.spec.KVTokens-w.used
	at := now
	if w.filling != nil {
		slots--
		at = w.filled
	}
	for k := w.queue.head; k != nil; k = k.behind {
		slots--
		memory -= k.memory
		if slots <= 0 || memory < 0 {
			first, _ := w.predict(now, j)
			return first
		}
		at = later(at, k.work/w.rate)
	}
	if !w.size(j) {
		return Never
	}
	if slots <= 0 || memory < j.memory {
		first, _ := w.predict(now, j)
		return first
	}
	w.fit(j, w.cache.hits(j.Blocks, reusable(j)))
	return later(at, j.work/w.rate) - now
}
