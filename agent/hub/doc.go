// Package hub serves children: it passes each the newest states of its view, grants and
// heartbeats, and gathers what they report. Agents use it, and control-plane replicas.
//
// It never judges a report, never divides a grant, and never opens a resource's body.
//
//	       Source, Publish                 Up
//	             │                          ▲
//	view ─ track (newest state, log)      outbox ◄─ roster of leaves
//	             │ dirty bit                ▲
//	   lane (one update in flight)          │
//	             ▼                          │
//	     writer ── child ── reader ─────────┘
//
// A child costs two goroutines: gRPC's own for the stream, and its reader. A writer comes
// when there is something to send and goes when there is not; what is due with time, as
// heartbeats are, Run looks for each second. What an update has in common for all children
// of a view is encoded once (encode.go).
//
// A report goes up once, and only of what is in the views of the child that it came by
// (roster.go, scope.go). Who a child is, its connection says (guest.go).
//
// One mutex guards all of it; nobody sends, observes or calls out under it.
package hub
