package wire

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/route/breaker"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Fleet decodes a fleet state. Breakers of a class or in a state that is not known here
// are skipped, as kinds are. A row without a date is as stale as can be.
func Fleet(s *State) (*route.Fleet, error) {
	v := s.Version()
	f := &route.Fleet{Version: route.FleetVersion{Epoch: v.GetEpoch(), Term: v.GetTerm(), Sequence: v.GetSequence()}}
	var errs []error
	for _, r := range s.kind(pb.Kind_KIND_FLEET_ENDPOINT) {
		e, fault := fleetEndpoint(r.key, r.entry)
		if fault != "" {
			errs = append(errs, fmt.Errorf("%v: %s", r.key, fault))
		}
		f.Endpoints = append(f.Endpoints, e)
	}
	for _, r := range s.kind(pb.Kind_KIND_FLEET_WORKLOAD) {
		w, fault := fleetWorkload(r.key, r.entry)
		if fault != "" {
			errs = append(errs, fmt.Errorf("%v: %s", r.key, fault))
		}
		f.Workloads = append(f.Workloads, w)
	}
	for _, r := range s.kind(pb.Kind_KIND_FLEET_INSTANCES) {
		in, fault := fleetInstances(r.key, r.entry)
		if fault != "" {
			errs = append(errs, fmt.Errorf("%v: %s", r.key, fault))
		}
		f.Instances = append(f.Instances, in)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return f, nil
}

func fleetEndpoint(k Key, e Entry) (out route.FleetEndpoint, fault string) {
	var m pb.FleetEndpoint
	if proto.Unmarshal(e.Body, &m) != nil {
		return out, undecodable
	}
	if m.Endpoint != k.Name {
		return out, otherName
	}
	if !sane(m.Speed) {
		return out, fmt.Sprintf("speed is %v", m.Speed)
	}
	out = route.FleetEndpoint{Name: m.Endpoint, Identity: m.Identity, At: made(e), Speed: m.Speed}
	for _, b := range m.Breakers {
		if min(b.GetOpenUs(), b.GetRampAgeUs(), b.GetRampUs()) < 0 {
			return out, fmt.Sprintf("a breaker's time is negative: %v", b)
		}
		if fb, ok := fleetBreaker(out.At, b); ok {
			out.Breakers = append(out.Breakers, fb)
		}
	}
	for _, l := range m.Loads {
		if !sane(l.GetSuccesses()) || !sane(l.GetSamples()) || !sane(l.GetSlowdown()) || !sane(l.GetSlowdownSamples()) {
			return out, fmt.Sprintf("a load has an impossible number: %v", l)
		}
		out.Loads = append(out.Loads, fleetLoad(l))
	}
	return out, ""
}

func fleetLoad(l *pb.FleetLoad) route.FleetLoad {
	return route.FleetLoad{
		Locality: l.GetLocality(), InFlight: l.GetInFlight(),
		PendingPromptTokens: l.GetPendingPromptTokens(), OutstandingTokens: l.GetOutstandingTokens(),
		Successes: l.GetSuccesses(), Samples: l.GetSamples(), Slowdown: l.GetSlowdown(), SlowdownSamples: l.GetSlowdownSamples(),
		Witnesses: l.GetWitnesses(),
	}
}

func fleetBreaker(at int64, b *pb.FleetBreaker) (route.FleetBreaker, bool) {
	class, ok := classOf(b.GetClass())
	state := b.GetState() - pb.BreakerState_BREAKER_STATE_CLOSED
	if !ok || state < 0 || state > pb.BreakerState(route.FleetRamp) {
		return route.FleetBreaker{}, false
	}
	out := route.FleetBreaker{
		Class: class, Locality: b.GetLocality(), State: route.FleetState(state), Round: b.GetRound(),
		Soft: b.GetSoft(), Reason: b.GetReason(), RampSuccesses: b.GetRampSuccesses(),
	}
	switch out.State {
	case route.FleetOpen:
		out.OpenUntil = plus(at, b.GetOpenUs())
	case route.FleetRamp:
		out.RampFrom, out.RampFor = minus(at, b.GetRampAgeUs()), b.GetRampUs()
	}
	return out, true
}

func fleetWorkload(k Key, e Entry) (out route.FleetWorkload, fault string) {
	var m pb.FleetWorkload
	switch {
	case proto.Unmarshal(e.Body, &m) != nil:
		return out, undecodable
	case m.Workload != k.Name:
		return out, otherName
	case !sane(m.RetryFactor):
		return out, fmt.Sprintf("retry_factor is %v", m.RetryFactor)
	}
	return route.FleetWorkload{Name: m.Workload, At: made(e), RetryFactor: m.RetryFactor}, ""
}

// EncodeFleetEndpoint encodes what is known of an endpoint as a row made now. Its times
// count from now: date the entry now, and never later without encoding it again.
func EncodeFleetEndpoint(now int64, e *route.FleetEndpoint) (*pb.Resource, error) {
	m := &pb.FleetEndpoint{Endpoint: e.Name, Identity: e.Identity, Speed: e.Speed}
	for _, b := range e.Breakers {
		m.Breakers = append(m.Breakers, encodeFleetBreaker(now, &b))
	}
	for _, l := range e.Loads {
		m.Loads = append(m.Loads, &pb.FleetLoad{
			Locality: l.Locality, InFlight: l.InFlight,
			PendingPromptTokens: l.PendingPromptTokens, OutstandingTokens: l.OutstandingTokens,
			Successes: l.Successes, Samples: l.Samples, Slowdown: l.Slowdown, SlowdownSamples: l.SlowdownSamples,
			Witnesses: l.Witnesses,
		})
	}
	return Resource(pb.Kind_KIND_FLEET_ENDPOINT, e.Name, m)
}

func encodeFleetBreaker(now int64, b *route.FleetBreaker) *pb.FleetBreaker {
	m := &pb.FleetBreaker{
		Class: encodeClass(b.Class), Locality: b.Locality,
		State: pb.BreakerState(b.State) + pb.BreakerState_BREAKER_STATE_CLOSED, Round: b.Round,
		Soft: b.Soft, Reason: b.Reason, RampSuccesses: b.RampSuccesses,
	}
	switch b.State {
	case route.FleetOpen:
		m.OpenUs = remaining(now, b.OpenUntil)
	case route.FleetRamp:
		m.RampAgeUs, m.RampUs = ageOf(now, b.RampFrom), b.RampFor
	}
	return m
}

// EncodeFleetWorkload encodes what is known of a workload. Date the entry as w is.
func EncodeFleetWorkload(w route.FleetWorkload) (*pb.Resource, error) {
	return Resource(pb.Kind_KIND_FLEET_WORKLOAD, w.Name, &pb.FleetWorkload{Workload: w.Name, RetryFactor: w.RetryFactor})
}

// The core counts classes and phases from 0, the wire from 1.

func encodeClass(c breaker.Class) pb.Class { return pb.Class(c) + pb.Class_CLASS_ANY }

func classOf(c pb.Class) (breaker.Class, bool) {
	out := c - pb.Class_CLASS_ANY
	return breaker.Class(out), out >= 0 && out < pb.Class(breaker.Classes)
}

func encodePhase(p breaker.Phase) pb.Phase { return pb.Phase(p) + pb.Phase_PHASE_ADMIT }

func phaseOf(p pb.Phase) (breaker.Phase, bool) {
	out := p - pb.Phase_PHASE_ADMIT
	return breaker.Phase(out), out >= 0 && out < pb.Phase(breaker.Phases)
}
