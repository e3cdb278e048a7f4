package server

import "math"

// batch is work on many jobs that all have the same pace. Each has its end in what is done
// by then of one's work, so that a change of the pace moves none of them.
type batch struct {
	at   int64   // the time of the last change
	done float64 // of the work of one who was there from the beginning, by then
	pace float64 // of it a µs from then on
	due  int64   // when the next of them ends
	ends ends
}

// pass lets time pass, before a change. What others do in between is not looked at: it would
// move the last bits.
func (b *batch) pass(now int64) {
	if now > b.at {
		if len(b.ends) > 0 {
			b.done += float64(float64(now-b.at) * b.pace)
		}
		b.at = now
	}
}

// plan finds the next end, after a change.
func (b *batch) plan() {
	if len(b.ends) == 0 {
		b.done, b.due = 0, Never
		return
	}
	b.due = later(b.at, (b.ends[0].at-b.done)/b.pace)
}

// later is a time in whole µs, by when so many more have passed.
func later(now int64, wait float64) int64 {
	const rounding = 1e-6 // µs: what sums have lost is not worth a whole one
	wait = math.Ceil(wait - rounding)
	switch {
	case wait <= 0:
		return now
	case wait < 1<<60:
		return now + int64(wait)
	}
	return Never
}

// end is one job's.
type end struct {
	at     float64
	serial uint64 // of equal ends the one that came first is first
	job    *Job
}

func (e *end) before(o *end) bool {
	return e.at < o.at || e.at == o.at && e.serial < o.serial
}

// ends is a heap of them.
type ends []end

func (h *ends) push(e end) {
	*h = append(*h, e)
	h.up(len(*h) - 1)
}

func (h *ends) pop() end {
	first := (*h)[0]
	h.remove(0)
	return first
}

// find looks for a job's: rarely.
func (h ends) find(j *Job) int {
	for i := range h {
		if h[i].job == j {
			return i
		}
	}
	return -1
}

func (h *ends) remove(i int) {
	a, last := *h, len(*h)-1
	a[i] = a[last]
	a[last] = end{}
	*h = a[:last]
	if i < last {
		h.down(i)
		h.up(i)
	}
}

// due is the first end where they are times.
func (h ends) due() int64 {
	if len(h) == 0 {
		return Never
	}
	return int64(h[0].at)
}

func (h ends) up(i int) {
	for e := h[i]; i > 0; {
		parent := (i - 1) / 2
		if !e.before(&h[parent]) {
			return
		}
		h[i], h[parent] = h[parent], e
		i = parent
	}
}

func (h ends) down(i int) {
	for e := h[i]; ; {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if right := child + 1; right < len(h) && h[right].before(&h[child]) {
			child = right
		}
		if !h[child].before(&e) {
			return
		}
		h[i], h[child] = h[child], e
		i = child
	}
}

// list is jobs in the order in which they came.
type list struct{ head, tail *Job }

func (l *list) add(j *Job) {
	j.ahead, j.behind = l.tail, nil
	if l.tail == nil {
		l.head = j
	} else {
		l.tail.behind = j
	}
	l.tail = j
}

// shift takes the first away, and leaves it as it is: predictions shift a copy of the list.
func (l *list) shift() {
	l.head = l.head.behind
	if l.head == nil {
		l.tail = nil
	}
}

// remove looks behind no head: those shifted may be anywhere.
func (l *list) remove(j *Job) {
	if j == l.head {
		l.shift()
		return
	}
	j.ahead.behind = j.behind
	if j == l.tail {
		l.tail = j.ahead
	} else {
		j.behind.ahead = j.ahead
	}
}

func (l *list) empty(jobs []*Job) []*Job {
	for ; l.head != nil; l.shift() {
		jobs = append(jobs, l.head)
	}
	return jobs
}
