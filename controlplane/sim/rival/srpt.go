package rival

import "math"

// pooled is one server with everybody's speed that always works on what has the least left and
// may change over at any moment (SRPT, Schrage 1968): no policy has a lower mean time to first
// token on servers that do one prompt at a time, however it shares them out and whatever it
// knows. It memorizes only what has not ended.
type pooled struct {
	rate float64 // tokens a µs
	at   float64 // µs
	heap []left
	sum  float64 // µs, of those that ended
	n    int64
}

// left is one prompt's rest, in tokens.
type left struct {
	tokens float64
	came   int64
}

// arrive adds a prompt.
func (p *pooled) arrive(now int64, tokens float64) {
	p.pass(float64(now))
	p.heap = append(p.heap, left{tokens, now})
	for i := len(p.heap) - 1; i > 0; {
		above := (i - 1) / 2
		if p.heap[above].tokens <= p.heap[i].tokens {
			break
		}
		p.heap[above], p.heap[i] = p.heap[i], p.heap[above]
		i = above
	}
}

// pass works until a time. The least only gets less, so that the order stays.
func (p *pooled) pass(until float64) {
	for len(p.heap) > 0 {
		first := &p.heap[0]
		end := p.at + max(first.tokens, 0)/p.rate
		if end > until {
			first.tokens -= (until - p.at) * p.rate
			break
		}
		p.at = end
		p.sum += end - float64(first.came)
		p.n++
		p.pop()
	}
	p.at = max(p.at, until)
}

// mean lets all end. µs; 0: nothing came.
func (p *pooled) mean() float64 {
	p.pass(math.Inf(1))
	return p.sum / float64(max(p.n, 1))
}

func (p *pooled) pop() {
	last := len(p.heap) - 1
	p.heap[0] = p.heap[last]
	p.heap = p.heap[:last]
	for i := 0; ; {
		least := i
		for _, below := range [2]int{2*i + 1, 2*i + 2} {
			if below < last && p.heap[below].tokens < p.heap[least].tokens {
				least = below
			}
		}
		if least == i {
			return
		}
		p.heap[i], p.heap[least] = p.heap[least], p.heap[i]
		i = least
	}
}
