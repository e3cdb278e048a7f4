package clientlib

import "github.com/pointsman/pointsman/clientlib/route"

// Limits are an attempt's, in µs.
type Limits = route.Limits

// Limits are what the attempt is bounded by; those of one that Pick gave are the caller's own to
// set, and zero here.
func (a Attempt) Limits() Limits {
	if a.f == nil {
		return Limits{}
	}
	return a.f.watch.limits
}
