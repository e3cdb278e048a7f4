package server

import "slices"

// Hosted is somebody's API. Zero: no limit.
//
// It is as fast as a row drawn says, whatever else it does. What it refuses counts in no limit.
type Hosted struct {
	Latency           *Latency
	Scale             float64 // of its times; 0: 1
	RequestsPerMinute int64
	TokensPerMinute   int64 // in and out
	Concurrency       int
	Fixed             bool    // the limits count from one full minute to the next; else they refill all the time
	Burst             float64 // what a limit that refills holds, in minutes; 0: 1
	Phase             int64   // µs from a full minute to the beginning of the run
}

func (h *Hosted) check(f *findings) {
	if h.Latency == nil || len(h.Latency.Rows) == 0 {
		f.add("latency: a hosted endpoint has some: name a provider and model of LLMPerf's, or give rows")
	} else if slices.ContainsFunc(h.Latency.Rows, func(r Row) bool { return !r.sound() }) {
		f.add("latency: times are not within 0 to a day")
	}
	f.positive("scale", h.Scale)
	f.count("requests_per_minute", h.RequestsPerMinute)
	f.count("tokens_per_minute", h.TokensPerMinute)
	f.count("concurrency", int64(h.Concurrency))
	f.positive("burst", h.Burst)
	if h.Fixed && h.Burst != 0 {
		f.add("burst: a fixed window holds just its own: say one of burst and fixed")
	}
	if h.Phase < 0 || h.Phase >= minute {
		f.add("phase: %d µs is not within a minute", h.Phase)
	}
}

func (h *Hosted) scale() float64 { return or(h.Scale, 1) }

// mean is of its rows, scaled.
func (h *Hosted) mean() Row {
	var sum Row
	for _, r := range h.Latency.Rows {
		sum.First += r.First
		sum.Each += r.Each
	}
	scale := h.scale() / float64(len(h.Latency.Rows))
	return Row{sum.First * scale, sum.Each * scale}
}

func (h *Hosted) capacity(input, output float64) float64 {
	most := endless
	if h.RequestsPerMinute > 0 {
		most = float64(h.RequestsPerMinute) / 60
	}
	if h.TokensPerMinute > 0 {
		most = min(most, float64(h.TokensPerMinute)/60/max(input+output, 1))
	}
	if h.Concurrency > 0 {
		mean := h.mean()
		most = min(most, second*float64(h.Concurrency)/max(mean.First+mean.Each*max(output-1, 0), 1))
	}
	return most
}

// hosted is such an API at work. Its batch is of µs, and has the pace 1 unless it is slow.
type hosted struct {
	spec             Hosted
	seed             uint64
	batch            batch
	requests, tokens bucket
}

func newHosted(h *Hosted, seed uint64) *hosted {
	return &hosted{
		spec: *h, seed: seed, batch: batch{pace: 1, due: Never},
		requests: newBucket(h, h.RequestsPerMinute), tokens: newBucket(h, h.TokensPerMinute),
	}
}

func (w *hosted) take(now int64, j *Job) verdict {
	need := float64(j.Input + j.Output)
	if wait := max(w.requests.wait(now, 1), w.tokens.wait(now, need)); wait > 0 {
		j.retry = said(wait)
		return throttled
	}
	if w.full() { // nobody knows until when
		return throttled
	}
	w.requests.take(1)
	w.tokens.take(need)
	w.draw(now, j)
	w.batch.pass(now)
	w.batch.ends.push(end{w.batch.done + j.work, j.serial, j})
	w.batch.plan()
	return served
}

func (w *hosted) full() bool {
	return w.spec.Concurrency > 0 && len(w.batch.ends) >= w.spec.Concurrency
}

func (w *hosted) draw(now int64, j *Job) {
	rows := w.spec.Latency.Rows
	row := rows[int(luck(lot(w.seed, now, j), ofLatency)*float64(len(rows)))]
	j.work = row.First * w.spec.scale()
	j.rest = row.Each * w.spec.scale() * float64(max(j.Output-1, 0))
	if j.verdict == cut {
		j.rest /= 2
	}
}

func (w *hosted) due() int64 { return w.batch.due }

func (w *hosted) step() (j *Job, first bool) {
	w.batch.pass(w.batch.due)
	e := w.batch.ends.pop()
	if first = e.job.phase == coming; first {
		w.batch.ends.push(end{e.at + e.job.rest, e.serial, e.job})
	}
	w.batch.plan()
	return e.job, first
}

func (w *hosted) drop(now int64, j *Job) {
	w.batch.pass(now)
	w.batch.ends.remove(w.batch.ends.find(j))
	w.batch.plan()
}

func (w *hosted) hasten(now int64, factor float64) {
	w.batch.pass(now)
	w.batch.pace = factor
	w.batch.plan()
}

func (w *hosted) reset(jobs []*Job) []*Job {
	for len(w.batch.ends) > 0 {
		jobs = append(jobs, w.batch.ends.pop().job)
	}
	w.batch.plan()
	return jobs
}

func (w *hosted) predict(now int64, j *Job) (first, total int64) {
	if w.full() || w.requests.wait(now, 1) > 0 || w.tokens.wait(now, float64(j.Input+j.Output)) > 0 {
		return Never, Never
	}
	w.draw(now, j)
	return later(0, j.work/w.batch.pace), later(0, (j.work+j.rest)/w.batch.pace)
}

func (w *hosted) predictFirst(now int64, j *Job) int64 {
	first, _ := w.predict(now, j)
	return first
}

// bucket is what a limit still lets through.
type bucket struct {
	size, level float64
	rate        float64 // a µs; 0: it is filled up as a minute begins
	at          int64   // when the level was that; of a fixed one, which minute's it is
	phase       int64
}

// newBucket is a full one; without a limit, the zero bucket.
func newBucket(h *Hosted, limit int64) bucket {
	size := float64(limit)
	if h.Fixed {
		return bucket{size: size, level: size, phase: h.Phase}
	}
	rate := size / minute
	size *= or(h.Burst, 1)
	return bucket{size: size, level: size, rate: rate}
}

// wait is how long it takes until so much may pass; 0: it may now. What is more than all
// passes a full one, and leaves a debt.
func (b *bucket) wait(now int64, need float64) int64 {
	if b.size == 0 {
		return 0
	}
	b.refill(now)
	const rounding = 1e-6
	lack := min(need, b.size) - b.level
	switch {
	case lack <= rounding:
		return 0
	case b.rate == 0:
		return minute - (now+b.phase)%minute
	}
	return later(0, lack/b.rate)
}

func (b *bucket) refill(now int64) {
	if b.rate == 0 {
		if n := (now + b.phase) / minute; n != b.at {
			b.level, b.at = b.size, n
		}
		return
	}
	b.level = min(b.size, b.level+float64(float64(now-b.at)*b.rate))
	b.at = now
}

func (b *bucket) take(need float64) { b.level -= need }
