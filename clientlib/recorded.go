package clientlib

import (
	"strings"
	"time"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// maxText bounds a text that somebody else wrote, in bytes.
const maxText = 256

// shedWord is the outcome of a call that got no endpoint.
const shedWord = "shed"

func (e *entry) encode() *pb.Record {
	if e.event != nil {
		return &pb.Record{TimeUs: micros(e.event.At), What: &pb.Record_Event{Event: e.event.encode()}}
	}
	a := &e.attempt
	m := &pb.Attempt{
		Call: e.call, Number: uint32(a.Number), Workload: a.Workload, Tenant: a.Tenant, Endpoint: a.Endpoint,
		Probe: a.Probe, RequestId: text(a.RequestID), FirstTokenUs: a.FirstToken.Microseconds(), TotalUs: a.Total.Microseconds(),
		CostNanoUsd: int64(a.Cost), Explanation: e.explanation,
	}
	if e.shed != nil {
		m.Outcome, m.Domain, m.Phase = shedWord, e.shed.Kind.Domain().String(), route.BeforeDispatch.String()
		m.Detail = text(e.shed.Error())
	} else {
		encodeOutcome(m, a)
		m.Decision = wire.EncodeDecision(&a.Decision)
	}
	return &pb.Record{TimeUs: micros(a.Started.Add(a.Total)), What: &pb.Record_Attempt{Attempt: m}}
}

func encodeOutcome(m *pb.Attempt, a *AttemptInfo) {
	o := &a.Outcome
	m.Outcome, m.Domain, m.Phase = o.Kind.String(), o.Domain().String(), a.Phase().String()
	m.Status, m.Detail = uint32(o.Status), text(o.Detail)
	if o.HasUsage {
		m.Usage = &pb.Usage{
			Input: o.Usage.Input, Cached: o.Usage.Cached, Written: o.Usage.Written, Output: o.Usage.Output, Estimated: o.Estimated,
		}
	}
}

func (e *Event) encode() *pb.Event {
	m := &pb.Event{
		Kind: e.Kind, Endpoint: e.Endpoint, Class: e.Class, Workload: text(e.Workload), Name: text(e.Name), Reason: text(e.Reason),
		UntilUs: micros(e.Until), Count: int64(e.Count),
	}
	if e.Err != nil {
		m.Error = text(e.Err.Error())
	}
	return m
}

// micros is a moment in µs since 1970; none is 0.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// text is the beginning of a text, as valid UTF-8: no message, label or span takes another.
func text(s string) string { return strings.ToValidUTF8(s[:min(len(s), maxText)], "?") }
