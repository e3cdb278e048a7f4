package metrics

import (
	"time"

	"github.com/pointsman/pointsman/agent/hub"
)

// Hubs are the families of a hub.
func Hubs() []Family[hub.Figures] {
	level := func(name, help string, of func(hub.Figures) int) Family[hub.Figures] {
		return Gauge(name, help, func(f hub.Figures, say Say) { say(float64(of(f))) })
	}
	total := func(name, help string, of func(hub.Figures) uint64) Family[hub.Figures] {
		return Counter(name, help, func(f hub.Figures, say Say) { say(float64(of(f))) })
	}
	return []Family[hub.Figures]{
		level("hub_children", "Streams of children that are open.", func(f hub.Figures) int { return f.Children }),
		level("hub_relays", "Of those, the ones of agents and replicas.", func(f hub.Figures) int { return f.Relays }),
		level("hub_leaves", "Libraries that were heard of in the last hour, direct or behind relays.", func(f hub.Figures) int { return f.Leaves }),
		level("hub_views", "Different views that children have.", func(f hub.Figures) int { return f.Views }),
		level("hub_questions", "Questions to leaves that wait for an answer.", func(f hub.Figures) int { return f.Questions }),
		level("hub_behind", "Tracks of children that hold more than is known here.", func(f hub.Figures) int { return f.Behind }),
		Gauge("hub_unacked_seconds", "How long the oldest update that was sent waits for its ack.", func(f hub.Figures, say Say) {
			say((time.Duration(f.Oldest) * time.Microsecond).Seconds())
		}),
		total("hub_joined_total", "Streams of children that were let in.", func(f hub.Figures) uint64 { return f.Joined }),
		total("hub_refused_total", "Streams that were refused.", func(f hub.Figures) uint64 { return f.Refused }),
		total("hub_stuck_total", "Streams that were ended for their silence, or for no ack.", func(f hub.Figures) uint64 { return f.Stuck }),
		total("hub_nacks_total", "Updates that a child refused.", func(f hub.Figures) uint64 { return f.Nacks }),
		total("hub_dropped_total", "Reports, or parts of them, that were not passed up.", func(f hub.Figures) uint64 { return f.Dropped }),
		total("hub_updates_total", "Updates that were sent to children.", func(f hub.Figures) uint64 { return f.Updates }),
		total("hub_sent_bytes_total", "Bytes that were sent to children.", func(f hub.Figures) uint64 { return f.Bytes }),
	}
}
