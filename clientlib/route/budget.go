package route

const (
	refillPerSecond = 0.1
	timeoutCost     = 2 // of a retry after a time-out; else 1
)

// budget holds a workload's retry tokens, so that an incident cannot multiply load.
type budget struct {
	tokens float64
	at     int64
}

func (b *budget) fill(now int64, w *Workload) {
	*b = budget{tokens: float64(w.Attempts.RetryReserve), at: now}
}

func (b *budget) refill(now int64, w *Workload) {
	age := max(now-b.at, 0)
	b.at = max(b.at, now)
	b.earn(float64(refillPerSecond*float64(age))/second, w)
}

func (b *budget) earn(tokens float64, w *Workload) {
	b.tokens = min(b.tokens+tokens, float64(w.Attempts.RetryReserve))
}

// affords tells whether a retry may be made, as far as the fleet lets tokens count.
func (b *budget) affords(cost, factor float64) bool { return float64(b.tokens*factor) >= cost }

// retryFactor is the fleet's, 1 without news.
func (r *Router) retryFactor(now int64, name string) float64 {
	w, ok := r.snapshot.retry[name]
	if !ok || w.At != 0 && now-w.At >= silence {
		return 1
	}
	return min(max(w.RetryFactor, 0), 1)
}
