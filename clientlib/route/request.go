package route

import (
	"fmt"
)

const (
	defaultTenant = "default"
	longTokens    = 32_000 // class long
	mostTokens    = 1 << 40
)

// tokens is a size as it can be counted: sums and products of sizes stay in range.
func tokens(n int64) int64 { return min(max(n, 0), mostTokens) }

// Request is what the core needs to know of one request.
type Request struct {
	Tenant    string // empty: "default"
	API       string // what the caller sends; empty: any of the workload's
	Needs     []string
	Session   string // for affinity
	Prefix    string // for affinity: how the prompt begins
	Stream    bool
	Input     int64 // tokens
	MaxOutput int64 // tokens; 0: not said
	Deadline  int64 // µs on the core's clock; 0: none
	Attempts  int64 // at most; 0: as many as the workload allows
}

// check refuses what no request can be.
func (q *Request) check() error {
	if q.Input|q.MaxOutput|q.Attempts|q.Deadline >= 0 && max(q.Input, q.MaxOutput, q.Attempts) <= mostTokens {
		return nil
	}
	for _, n := range [...]number{{"input", q.Input}, {"max_output", q.MaxOutput}, {"attempts", q.Attempts}} {
		if n.value < 0 || n.value > mostTokens {
			return fmt.Errorf("%w: %s: %d, want 0 to %d", ErrRequest, n.name, n.value, int64(mostTokens))
		}
	}
	if q.Deadline < 0 {
		return fmt.Errorf("%w: deadline: %d, want a time that is not before the clock's 0", ErrRequest, q.Deadline)
	}
	return nil
}

// ask fills in what the call asks of an endpoint, and is false for a tenant that may not.
func (s *static) ask(w *workload, c *Call, a *ask) (allowed bool) {
	q := &c.request
	t, allowed := s.entitled(w, q.Tenant)
	c.tenant = t
	if t != nil {
		a.policy = t.policy
	}
	a.apis = w.apis
	if q.API != "" {
		var one set
		one.add(s.vocabulary.apis.bit(q.API))
		a.apis = a.apis.and(one)
	}
	a.classes = anyClass
	if q.Stream {
		a.needs.add(streamBit)
		a.classes |= streamClass
	}
	for _, name := range q.Needs {
		if name == capTools {
			a.needs.add(toolsBit)
			a.classes |= toolsClass
		} else {
			a.needs.add(s.vocabulary.capabilities.bit(name))
		}
	}
	if q.Input+q.MaxOutput >= longTokens {
		a.classes |= longClass
	}
	a.window = bucket(w.windows, max(q.Input+max(q.MaxOutput, 1), c.larger))
	a.output = bucket(w.caps, q.MaxOutput)
	a.from, a.band = int32(c.from), int32(c.band)
	return allowed
}

// entitled finds a tenant and whether it may use a workload. With no tenant declared, all may.
func (s *static) entitled(w *workload, name string) (*tenant, bool) {
	if len(s.tenants) == 0 {
		return nil, true
	}
	if name == "" {
		name = defaultTenant
	}
	t := s.tenants[name]
	if t == nil {
		return nil, false
	}
	return t, t.may[w.spec.Name] || t.may["*"]
}
