package fleet

const (
	quorumPart  = 5 // a fifth of the nodes that use the endpoint,
	quorumLeast = 3 // but not fewer,
	quorumMost  = 10
)

// quorum is how many of n witnesses it takes: all of them when there are few.
func quorum(n int) int {
	return min(n, max(quorumLeast, min((n+quorumPart-1)/quorumPart, quorumMost)))
}

// localitiesFor is how many of n localities open an endpoint everywhere: half of them, and
// never one for another.
func localitiesFor(n int) int { return max((n+1)/2, min(n, 2)) }

// most is what one witness may count for at most, so that none is more than a third of
// what all count for; fewer than three are not bounded.
func most(samples []int64) int64 {
	var total, first, next int64
	witnesses := 0
	for _, n := range samples {
		if n == 0 {
			continue
		}
		witnesses++
		total += n
		if n > first {
			first, next = n, first
		} else {
			next = max(next, n)
		}
	}
	if witnesses < 3 || 3*first <= total {
		return first
	}
	if half := (total - first) / 2; next <= half {
		return half
	}
	return total - first - next
}
