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
// One mutex guards all of it; nobody sends, observes or calls out under it.
package hub
