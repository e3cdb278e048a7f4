package faults

import (
	"errors"
	"time"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/test/fake"
)

// What clienttest.Pool's policy says, in the words of the bounds below: a breaker opens after consecutive failures and
// probes after 5 s at the earliest, then 10, 20 and 40: by 60 s three times, by 120 s four.
const (
	consecutive = 5
	probes      = 4
	firstToken  = 10 * time.Second
	stall       = 20 * time.Second
	backOff     = 100 * time.Millisecond // before a second attempt
	grace       = 100 * time.Millisecond
	many        = 8
)

var sixteen = []fault{
	{
		number: 1, name: "429 with Retry-After", calls: 30, every: 2 * time.Second,
		a: []fake.Fault{{Kind: fake.Throttle, Delay: 20 * time.Second, To: 20 * time.Second}},
		check: func(s *scene) {
			s.right(answer + backOff + grace)
			s.breakers(false)
			if c := s.count("a"); c.Faulted != 1 || c.Answered < 15 {
				s.t.Errorf("a was asked %d times before it said to, and answered %d", c.Faulted, c.Answered)
			}
		},
	},
	{
		number: 2, name: "429 for ever", calls: 40, every: 2 * time.Second,
		a: []fake.Fault{{Kind: fake.Limit}},
		check: func(s *scene) {
			s.right(answer + backOff + grace)
			s.breakers(false)
			s.requests("a", 2, 7) // 1 s, doubling
			s.requests("b", 40, 40)
		},
	},
	{
		number: 2, name: "429 for ever, many callers", calls: 40 * many, every: time.Second / many, callers: 2 * many,
		a: []fake.Fault{{Kind: fake.Limit}},
		check: func(s *scene) {
			s.right(answer + backOff + grace)
			s.breakers(false)
			s.requests("a", 2, 7+many)
			s.requests("b", 40*many, 40*many)
		},
	},
	{
		number: 3, name: "one 500", calls: 10, every: 2 * time.Second,
		a: []fake.Fault{{Kind: fake.Fail, Times: 1}},
		check: func(s *scene) {
			s.right(answer + backOff + grace)
			s.breakers(false)
			s.requests("a", 10, 10)
			s.requests("b", 1, 1)
		},
	},
	{
		number: 4, name: "503 for ever", calls: 30, every: 2 * time.Second,
		a:     []fake.Fault{{Kind: fake.Overload}},
		check: unreachable,
	},
	{
		number: 4, name: "503 for ever, many callers", calls: 40 * many, every: time.Second / many, callers: 2 * many,
		a: []fake.Fault{{Kind: fake.Overload}},
		check: func(s *scene) {
			s.right(answer + backOff + grace)
			s.breakers(true)
			s.requests("a", consecutive, consecutive+many-1+probes)
			s.requests("b", 40*many, 40*many)
		},
	},
	{
		number: 5, name: "reset before headers", calls: 30, every: 2 * time.Second,
		a:     []fake.Fault{{Kind: fake.Reset}},
		check: unreachable,
	},
	{
		number: 6, name: "silence of 120 s", calls: 12, every: 2 * time.Second,
		a: []fake.Fault{{Kind: fake.Slow, Delay: 120 * time.Second}},
		catalog: func(c *route.Catalog) {
			c.Workloads[0].Attempts.Answer = (10 * time.Second).Microseconds()
		},
		check: silent,
	},
	{
		number: 7, name: "first token after 20 s", calls: 12, every: 2 * time.Second, streamed: true,
		a:     []fake.Fault{{Kind: fake.Late, Delay: 20 * time.Second}},
		check: silent,
	},
	{
		number: 8, name: "cut after 40 of 60 tokens", calls: 12, every: 2 * time.Second,
		a:     []fake.Fault{{Kind: fake.Cut, Tokens: 40}},
		check: func(s *scene) { breaking(s, 40, answer) },
	},
	{
		number: 9, name: "30 s stall", calls: 12, every: 2 * time.Second, streamed: true,
		a: []fake.Fault{{Kind: fake.Stall, Tokens: 40, Delay: 30 * time.Second}},
		check: func(s *scene) {
			breaking(s, 40, answer+stall)
			var limit *clientlib.LimitError
			if r := s.results[0]; s.policy == live && (!errors.As(r.err, &limit) || limit.Limit != "stall" || limit.After != stall) {
				s.t.Errorf("%v", r.err)
			}
		},
	},
	{
		number: 10, name: "malformed chunk", calls: 10, every: 2 * time.Second,
		a: []fake.Fault{{Kind: fake.Malformed, Tokens: 20}},
		check: func(s *scene) {
			s.right(2*answer + backOff + grace)
			if s.policy == unstreamed {
				s.requests("b", 10, 10)
				return
			}
			s.breakers(false)
			s.requests("a", 10, 10)
			s.requests("b", 0, 0)
			for _, a := range s.Attempts() {
				if a.Outcome.Detail != "1 malformed event" {
					s.t.Errorf("detail %q", a.Outcome.Detail)
				}
			}
		},
	},
	{
		number: 11, name: "missing end marker", calls: 12, every: 2 * time.Second, streamed: true,
		a:     []fake.Fault{{Kind: fake.Unended}},
		check: func(s *scene) { breaking(s, 60, answer) },
	},
	{
		number: 11, name: "clean end after 40", calls: 12, every: 2 * time.Second, streamed: true,
		a:     []fake.Fault{{Kind: fake.Unended, Tokens: 40}},
		check: func(s *scene) { breaking(s, 40, answer) },
	},
	{
		number: 12, name: "context length", calls: 10, every: 2 * time.Second, spelled: true,
		a: []fake.Fault{{Kind: fake.TooLong}},
		check: func(s *scene) {
			s.refused(400, "context_length_exceeded", 1)
			s.breakers(false)
			s.requests("b", 0, 0)
		},
	},
	{
		number: 12, name: "context length, larger window", calls: 10, every: 2 * time.Second,
		a:       []fake.Fault{{Kind: fake.TooLong}},
		catalog: func(c *route.Catalog) { c.Endpoints[0].ContextWindow = 8_000; c.Endpoints[0].MaxOutputTokens = 4_000 },
		check: func(s *scene) {
			s.right(answer + grace)
			s.breakers(false)
			s.requests("a", 10, 10)
			s.requests("b", 10, 10)
		},
	},
	{
		number: 13, name: "content filter", calls: 10, every: 2 * time.Second, spelled: true,
		a: []fake.Fault{{Kind: fake.Filter}},
		check: func(s *scene) {
			s.refused(400, "content_policy_violation", 1)
			s.breakers(false)
			s.requests("b", 0, 0)
		},
	},
	{
		number: 13, name: "content filter, tried elsewhere", calls: 10, every: 2 * time.Second, spelled: true,
		a:       []fake.Fault{{Kind: fake.Filter}},
		catalog: func(c *route.Catalog) { c.Workloads[0].FilterElsewhere = true },
		check: func(s *scene) {
			s.right(answer + grace)
			s.breakers(false)
			s.requests("a", 10, 10)
			s.requests("b", 10, 10)
		},
	},
	{
		number: 14, name: "fallback that refuses", calls: 12, every: 2 * time.Second, spelled: true,
		a: []fake.Fault{{Kind: fake.Overload}},
		b: []fake.Fault{{Kind: fake.Refuse}},
		check: func(s *scene) {
			s.breakers(true)
			s.requests("a", consecutive, consecutive+probes)
			for i := range s.results {
				if r := &s.results[i]; r.attempts == 2 && (r.status != 503 || r.code != "server_is_overloaded") || r.attempts == 1 && r.status != 400 {
					s.t.Errorf("call %d: %v in %d attempts", i, r, r.attempts)
				}
			}
		},
	},
	{
		number: 14, name: "fallback that is not fit", calls: 12, every: 2 * time.Second, spelled: true,
		a:       []fake.Fault{{Kind: fake.Overload}},
		catalog: func(c *route.Catalog) { c.Endpoints[1].ContextWindow, c.Endpoints[1].MaxOutputTokens = 5, 5 },
		check: func(s *scene) {
			s.breakers(true)
			s.requests("a", consecutive, consecutive+probes)
			s.requests("b", 0, 0)
			for i := range s.results {
				if r := &s.results[i]; r.status != 503 || r.attempts == 1 && r.code != "server_is_overloaded" || r.attempts == 0 && r.code != "shed_open" {
					s.t.Errorf("call %d: %v in %d attempts", i, r, r.attempts)
				}
			}
		},
	},
	{
		number: 15, name: "60 s of flapping", calls: 360, every: time.Second,
		a: fake.Flapping(fake.Fault{Kind: fake.Fail}, 3*time.Second, 60*time.Second),
		check: func(s *scene) {
			s.right(answer + backOff + grace)
			if n := s.opened("b"); n > 0 {
				s.t.Errorf("b's breaker opened %d times", n)
			}
			if c := s.count("a"); c.Faulted > 30 || c.Answered < 40 {
				s.t.Errorf("a failed %d times and answered %d", c.Faulted, c.Answered)
			}
			if e := s.Endpoints()[0]; e.Local != "closed" {
				s.t.Errorf("a's breaker is %s long after", e.Local)
			}
		},
	},
	{
		number: 16, name: "accounting across a failover", calls: 10, every: 2 * time.Second,
		a: []fake.Fault{{Kind: fake.Cut, Tokens: 40, Times: 1}, {Kind: fake.Fail, Times: 1}},
		check: func(s *scene) {
			s.breakers(false)
			s.accounted(false)
		},
	},
	{
		number: 16, name: "accounting without usage", calls: 10, every: 2 * time.Second, quiet: true,
		a: []fake.Fault{{Kind: fake.Cut, Tokens: 40, Times: 1}, {Kind: fake.Fail, Times: 1}},
		check: func(s *scene) {
			s.breakers(false)
			s.accounted(true)
		},
	},
}

// unreachable is an endpoint that fails at once, always: every call is answered by b, and a is left alone.
func unreachable(s *scene) {
	s.right(answer + backOff + grace)
	s.breakers(true)
	s.requests("a", consecutive, consecutive+probes)
	s.requests("b", 30, 30)
}

// silent is an endpoint that lets its time pass: once a call, and not for ever.
func silent(s *scene) {
	s.right(firstToken + answer + backOff + grace)
	s.breakers(true)
	s.requests("a", consecutive, consecutive+probes)
	s.requests("b", 12, 12)
}

// breaking is an endpoint whose streams break after so many tokens: live the caller is told, whole b answers, and
// either way a is left alone after some.
func breaking(s *scene, after int, within time.Duration) {
	s.breakers(true)
	if s.policy == live {
		broken := s.broke(after, within+grace)
		s.requests("a", consecutive, consecutive+probes)
		s.requests("b", 12-broken, 12-broken)
		return
	}
	s.right(within + answer + backOff + grace)
	s.requests("a", consecutive, consecutive+probes)
	s.requests("b", 12, 12)
}
