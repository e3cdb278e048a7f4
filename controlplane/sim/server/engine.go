package server

// engine is what of an engine of one's own changes as time passes. A copy of it, with ends of
// its own, plays what is to come: it changes no job.
type engine struct {
	spec    Own
	queue   list
	guest   *Job // behind the queue, in a prediction
	filling *Job // whose prefill runs
	filled  int64
	rate    float64 // tokens of a prompt a µs
	haste   float64 // its speed now
	used    int64   // tokens of memory
	batch   batch
}

func (e *engine) due() int64 { return min(e.filled, e.batch.due) }

// step is what is due: an end, else a first token. Ends go first: they make room.
func (e *engine) step() (j *Job, first bool) {
	if e.batch.due <= e.filled {
		e.batch.pass(e.batch.due)
		j = e.batch.ends.pop().job
		e.used -= j.memory
	} else {
		e.batch.pass(e.filled)
		j, first = e.filling, true
		e.filling, e.filled = nil, Never
		e.batch.ends.push(end{e.batch.done + j.rest, j.serial, j})
	}
	e.start()
	return j, first
}

// wake starts what can start after one came or left.
func (e *engine) wake(now int64) {
	if e.ready() {
		e.batch.pass(now)
		e.start()
	}
}

// start is the end of every change, at the batch's time: the next prefill, and the new pace.
func (e *engine) start() {
	if e.ready() {
		e.filling = e.next()
		e.filled = later(e.batch.at, e.filling.work/e.rate)
		e.used += e.filling.memory
		if e.filling == e.guest {
			e.guest = nil
		} else {
			e.queue.shift()
		}
	}
	e.pace()
}

func (e *engine) next() *Job {
	if e.queue.head != nil {
		return e.queue.head
	}
	return e.guest
}

func (e *engine) ready() bool {
	if e.filling != nil || len(e.batch.ends) >= e.spec.Slots {
		return false
	}
	j := e.next()
	return j != nil && e.used+j.memory <= e.spec.KVTokens
}

func (e *engine) pace() {
	e.batch.pace = e.haste / (e.spec.Step + float64(e.spec.StepEach*float64(len(e.batch.ends))))
	if e.filling != nil {
		e.batch.pace *= e.spec.PrefillPace
	}
	e.batch.plan()
}

func (e *engine) hasten(now int64, factor float64) {
	before := e.haste
	e.haste = e.spec.Speed * factor
	e.rate = e.spec.PrefillTPS / second * e.haste
	if e.haste == before {
		return
	}
	e.batch.pass(now)
	if e.filling != nil {
		e.filled = later(now, float64(e.filled-now)*before/e.haste)
	}
	e.pace()
}

// leave ends one that is decoded.
func (e *engine) leave(now int64, j *Job) {
	e.batch.pass(now)
	e.batch.ends.remove(e.batch.ends.find(j))
	e.used -= j.memory
	e.start()
}

// stop ends the prefill.
func (e *engine) stop(now int64, j *Job) {
	e.batch.pass(now)
	e.filling, e.filled = nil, Never
	e.used -= j.memory
	e.start()
}

// clear forgets everybody.
func (e *engine) clear(jobs []*Job) []*Job {
	if e.filling != nil {
		jobs = append(jobs, e.filling)
		e.filling, e.filled = nil, Never
	}
	for len(e.batch.ends) > 0 {
		jobs = append(jobs, e.batch.ends.pop().job)
	}
	e.used = 0
	e.pace()
	return e.queue.empty(jobs)
}
