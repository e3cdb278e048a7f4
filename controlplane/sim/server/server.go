// Package server models what answers: an engine of one's own, with its queue, prefill, batch
// and caches, or a hosted API with latencies and limits. It decides how long an answer takes
// and whether it comes; never who is asked. It is pure: times (µs) come in as arguments.
package server

import (
	"math"

	"github.com/pointsman/pointsman/clientlib/route"
)

// Never is the time of what does not happen.
const Never = math.MaxInt64

// Job is one attempt at an endpoint. The server keeps the pointer until its end.
type Job struct {
	Input, Output int64
	Stream        bool
	Blocks        []uint64 // as traffic.Arrival's; kept
	Chance        uint32   // of the request: with the same one, policies meet the same luck

	Cached int64 // tokens that the cache held; known at the first token
	ID     int32 // the caller's own
	state
}

// state is what a server knows of a job.
type state struct {
	ahead, behind *Job    // in the list that it waits in
	came          int64   // when
	retry         int64   // what a refusal says
	memory        int64   // tokens
	work          float64 // until the first token: tokens of the prompt; of a hosted one, µs
	rest          float64 // from there to the end: tokens of the answer; of a hosted one, µs
	serial        uint64
	others        int32 // that were in flight when it came
	verdict       verdict
	phase         phase
	invalid       bool
}

// phase is where a job is.
type phase uint8

const (
	gone      phase = iota // or never here
	coming                 // no first token yet
	answering              // and no end
	refused                // and not told yet
	hanging                // for ever
)

// News is what became of a job.
type News struct {
	At      int64 // µs
	Job     *Job
	First   bool          // the first token of a stream; else the end
	Invalid bool          // it was served, and a validator would refuse it
	Outcome route.Outcome // of the end, with usage where there is any
}

// works is what a server works with. Times of one call to the next ascend.
type works interface {
	take(now int64, j *Job) verdict // into its queue, or why not
	due() int64
	step() (j *Job, first bool) // what is due
	drop(now int64, j *Job)
	hasten(now int64, factor float64) // from now on its speed is so many times its model's
	reset(jobs []*Job) []*Job         // forgets all of its jobs, and what they taught it
	predict(now int64, j *Job) (first, total int64)
	predictFirst(now int64, j *Job) int64
}

// Server is one endpoint under a timeline of faults.
type Server struct {
	model    *Model
	works    works
	timeline timeline
	due      int64
	serial   uint64
	inFlight int
	refusals ends // that are told soon; by µs
	hanging  list
	recent   recent
	lost     []*Job // of a reset; kept for its memory
	guest    Job    // of a prediction
}

// New is a server without work, of a model and under faults that have passed Check. The seed
// is the endpoint's own luck, in what is not the request's.
func New(m *Model, seed uint64, faults []Fault) *Server {
	s := &Server{model: m, timeline: newTimeline(seed, faults)}
	if m.Own != nil {
		s.works = newOwn(m.Own)
	} else {
		s.works = newHosted(m.Hosted, seed)
	}
	s.plan()
	return s
}

// Take begins a job. What was due before has been advanced to.
func (s *Server) Take(now int64, j *Job) {
	s.serial++
	j.Cached = 0
	j.state = state{came: now, serial: s.serial, others: int32(s.inFlight), phase: coming}
	s.inFlight++
	s.timeline.judge(now, j)
	j.invalid = j.invalid || s.model.Quality.refuses(j)
	if j.verdict < refusing {
		j.verdict = max(j.verdict, s.works.take(now, j))
	}
	switch {
	case j.verdict == hung:
		j.phase = hanging
		s.hanging.add(j)
	case j.verdict > refusing:
		j.phase = refused
		s.refusals.push(end{float64(now + delays[j.verdict]), j.serial, j})
	}
	s.plan()
}

// Drop ends a job whose caller has left; there is no more news of it.
func (s *Server) Drop(now int64, j *Job) {
	switch j.phase {
	case gone:
		return
	case refused:
		s.refusals.remove(s.refusals.find(j))
	case hanging:
		s.hanging.remove(j)
	default:
		s.works.drop(now, j)
	}
	s.leave(j)
	s.plan()
}

func (s *Server) leave(j *Job) {
	s.inFlight--
	j.phase, j.ahead, j.behind = gone, nil, nil
}

// Due is when Advance has something to do.
func (s *Server) Due() int64 { return s.due }

func (s *Server) plan() {
	s.due = min(s.timeline.next, s.works.due(), s.refusals.due())
}

// Advance lets time pass and appends what came of it, in order.
func (s *Server) Advance(now int64, news []News) []News {
	for s.due <= now {
		news = s.step(s.due, news)
		s.plan()
	}
	return news
}

func (s *Server) step(now int64, news []News) []News {
	switch now {
	case s.timeline.next:
		return s.turn(now, news)
	case s.works.due():
		return s.work(now, news)
	}
	return s.end(now, s.refusals.pop().job, news)
}

// turn is where a fault begins or ends.
func (s *Server) turn(now int64, news []News) []News {
	factor, falls := s.timeline.turn(now)
	s.works.hasten(now, factor)
	if !falls {
		return news
	}
	s.lost = s.works.reset(s.lost[:0])
	for len(s.refusals) > 0 {
		s.lost = append(s.lost, s.refusals.pop().job)
	}
	s.lost = s.hanging.empty(s.lost)
	for _, j := range s.lost {
		j.verdict = reset
		news = s.end(now, j, news)
	}
	return news
}

func (s *Server) work(now int64, news []News) []News {
	j, first := s.works.step()
	if !first {
		return s.end(now, j, news)
	}
	j.phase = answering
	s.recent.add(j.others, now-j.came)
	if j.Stream {
		news = append(news, News{At: now, Job: j, First: true})
	}
	return news
}

func (s *Server) end(now int64, j *Job, news []News) []News {
	s.leave(j)
	return append(news, News{At: now, Job: j, Invalid: j.invalid && j.verdict == served, Outcome: j.outcome()})
}

// InFlight is how many jobs have not ended.
func (s *Server) InFlight() int { return s.inFlight }

// Probe answers as a server of Prequal does: requests in flight, and the latency (µs to a
// first token) of recent requests that came when about as many were; 0: there was none yet.
func (s *Server) Probe(now int64) (inFlight int, latency int64) {
	return s.inFlight, s.recent.near(int32(s.inFlight))
}

// Predict is how long a job would take to its first token and to its end if it came now and
// nothing after it, and no fault began or ended: exactly, for an engine of one's own. µs;
// Never: it would not be served.
func (s *Server) Predict(now int64, j *Job) (first, total int64) {
	if !s.would(now, j) {
		return Never, Never
	}
	return s.works.predict(now, &s.guest)
}

// PredictFirst is the first of Predict's, for less work.
func (s *Server) PredictFirst(now int64, j *Job) int64 {
	if !s.would(now, j) {
		return Never
	}
	return s.works.predictFirst(now, &s.guest)
}

func (s *Server) would(now int64, j *Job) bool {
	s.guest = Job{Input: j.Input, Output: j.Output, Blocks: j.Blocks, Chance: j.Chance}
	s.timeline.judge(now, &s.guest)
	return s.guest.verdict == served
}

// Speed is how fast it is by its model, next to one of the speed 1.
func (s *Server) Speed() float64 { return s.model.speed() }
