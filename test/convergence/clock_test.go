package convergence

import "container/heap"

const (
	ms     = int64(1000) // µs
	second = 1000 * ms
)

// clock lets virtual time pass: what is due next happens next.
type clock struct {
	now   int64
	queue queue
	count uint64
}

type event struct {
	at    int64
	order uint64
	do    func()
}

// at has something happen, not before now.
func (c *clock) at(at int64, do func()) {
	c.count++
	heap.Push(&c.queue, event{max(at, c.now), c.count, do})
}

// after is at, from now on.
func (c *clock) after(d int64, do func()) { c.at(c.now+d, do) }

// run lets all happen that is due until then.
func (c *clock) run(until int64) {
	for len(c.queue) > 0 && c.queue[0].at <= until {
		e := heap.Pop(&c.queue).(event)
		c.now = e.at
		e.do()
	}
	c.now = until
}

type queue []event

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].order < q[j].order
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(event)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = event{}
	*q = (*q)[:last]
	return e
}
