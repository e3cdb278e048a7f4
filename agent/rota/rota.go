// Package rota visits the members of a set that changes, each in its own time and a few at
// once. It decides when, never what: whoever runs it visits.
package rota

import (
	"context"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"time"
)

// Rota is a set and what is done for each of its members. All fields are required.
type Rota[T comparable] struct {
	Members func() []T                                               // of now; asked each quarter of a second
	Visit   func(ctx context.Context, member T) (next time.Duration) // and when to come again
	Within  time.Duration                                            // a new member's first visit: at a time of its own
	AtOnce  int                                                      // visits
}

// Only drops from what visits found of members what is of none any more.
func Only[T comparable, V any](found map[T]V, members []T) {
	if len(found) <= len(members) {
		return // what is of none goes when its successor was visited
	}
	maps.DeleteFunc(found, func(m T, _ V) bool { return !slices.Contains(members, m) })
}

const look = 250 * time.Millisecond

// Run visits until ctx ends, and waits for the visits that are under way.
func (r Rota[T]) Run(ctx context.Context) {
	s := &shift[T]{Rota: r, seed: maphash.MakeSeed(), due: map[T]time.Time{}, back: make(chan visit[T], r.AtOnce)}
	defer s.wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case v := <-s.back:
			s.busy--
			if _, still := s.due[v.of]; still {
				s.due[v.of] = time.Now().Add(v.next)
			}
		case <-tick.C:
			s.enrol()
		}
		s.send(ctx)
	}
}

// shift is one run of a rota. All but wg is its loop's.
type shift[T comparable] struct {
	Rota[T]
	seed maphash.Seed
	due  map[T]time.Time // under way: far
	busy int
	back chan visit[T]
	wg   sync.WaitGroup
}

type visit[T comparable] struct {
	of   T
	next time.Duration
}

const far = 24 * time.Hour

// enrol takes members in, and those that left out.
func (s *shift[T]) enrol() {
	now, members := time.Now(), s.Members()
	still := make(map[T]bool, len(members))
	for _, m := range members {
		still[m] = true
		if _, known := s.due[m]; !known {
			s.due[m] = now.Add(time.Duration(maphash.Comparable(s.seed, m) % uint64(max(s.Within, 1))))
		}
	}
	for m := range s.due {
		if !still[m] {
			delete(s.due, m)
		}
	}
}

// send starts the visits that are due, as many as may be: those that wait longest first, so that
// slow visits keep nobody out.
func (s *shift[T]) send(ctx context.Context) {
	now := time.Now()
	var ready []T
	for m, at := range s.due {
		if !at.After(now) {
			ready = append(ready, m)
		}
	}
	if room := s.AtOnce - s.busy; len(ready) > room {
		slices.SortFunc(ready, func(a, b T) int { return s.due[a].Compare(s.due[b]) })
		ready = ready[:room]
	}
	for _, m := range ready {
		s.due[m] = now.Add(far)
		s.busy++
		s.wg.Go(func() { s.back <- visit[T]{m, s.Visit(ctx, m)} }) // there is room for all
	}
}
