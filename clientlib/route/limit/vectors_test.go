package limit

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/test/story"
)

// The format is at the top of the file.
func TestVectors(t *testing.T) {
	quotas := map[string]*Quota{}
	story.Table(t, "../../../test/vectors/limit.txt", func(question string) string {
		return answer(quotas, strings.Fields(question))
	})
}

// answer does one command: its name, a time, a quota, arguments.
func answer(quotas map[string]*Quota, words []string) string {
	if words[0] == "cost" {
		return text(cost(number(words[1]), number(words[2]), number(words[3])))
	}
	now, args := number(words[1]), words[3:]
	if words[0] == "acquire" {
		var of []*Quota
		for name := range strings.SplitSeq(words[2], ",") {
			of = append(of, quotas[name])
		}
		use := Request(number(args[0]), number(args[1]))
		return Acquire(now, &use, of...).String()
	}
	q := quotas[words[2]]
	if words[0] == "quota" {
		if q == nil {
			q = &Quota{}
			quotas[words[2]] = q
		}
		q.Set(now, declared(args))
		return q.state()
	}
	if ask := asked(q, now, words[0], args); ask != "" {
		return ask
	}
	told(q, now, words[0], args)
	return q.state()
}

func asked(q *Quota, now int64, command string, args []string) string {
	switch command {
	case "until":
		use, percent := Request(number(args[0]), number(args[1])), int64(All)
		if len(args) > 2 {
			percent = number(args[2])
		}
		return text(q.Until(now, &use, percent))
	case "limit":
		return text(q.Limit(now, dimension(args[0])))
	case "remaining":
		return text(q.Remaining(now, dimension(args[0])))
	case "reset":
		return text(q.Reset(now, dimension(args[0])))
	}
	return ""
}

func told(q *Quota, now int64, command string, args []string) {
	switch command {
	case "settle":
		reserved, used := Request(number(args[1]), number(args[2])), Request(number(args[3]), number(args[4]))
		q.Settle(now, number(args[0]), &reserved, &used)
	case "unsent":
		reserved := Request(number(args[1]), number(args[2]))
		q.Settle(now, number(args[0]), &reserved, &Use{})
	case "headers":
		h := Headers{At: number(args[1])}
		for _, a := range args[2:] {
			hear(&h, a)
		}
		q.Headers(now, uint32(number(args[0])), &h)
	case "cool":
		q.Cool(now, uint32(number(args[0])), number(args[1]))
	case "served":
		q.Served()
	case "lease":
		q.Lease(now, dimension(args[0]), Lease{number(args[1]), number(args[2]), number(args[3]), number(args[4])})
	case "cut", "back":
		q.Cut(now, command == "cut")
	default:
		panic(command)
	}
}

func hear(h *Headers, a string) {
	name, value, _ := strings.Cut(a, ":")
	name, what, _ := strings.Cut(name, ".")
	of := &h.Of[dimension(name)]
	if what == "remaining" {
		of.HasRemaining, of.Remaining = true, number(value)
	} else {
		of.HasReset, of.Reset = true, number(value)
	}
}

func declared(args []string) Limits {
	l := None()
	for _, a := range args {
		switch name, value, limits := strings.Cut(a, ":"); {
		case limits:
			l.Of[dimension(name)] = number(value)
		case a == "fixed":
			l.Fixed = true
		case a == "hold":
			l.Hold = true
		}
	}
	return l
}

// state is all that the commands move.
func (q *Quota) state() string {
	var parts []string
	for i := range int(q.n) {
		b := q.at[i]
		p := fmt.Sprintf("%v:%d/%d/%d", q.kinds[i], b.tat, b.floor, b.reserved)
		if q.counts(i) {
			w := q.more.windows[i]
			p += fmt.Sprintf("/%d/%d/%d", w.used, w.from, w.edge)
		}
		parts = append(parts, p)
	}
	if q.marks&easing != 0 {
		parts = append(parts, fmt.Sprintf("cooled:%d/%d/%d", q.until, q.ramped, q.next))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, " ")
}

func dimension(name string) Dimension {
	for d, n := range names {
		if n == name {
			return Dimension(d)
		}
	}
	panic(name)
}

func number(v string) int64 {
	n, err := strconv.ParseInt(v, 0, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func text(n int64) string {
	if n == Forever {
		return "never"
	}
	return strconv.FormatInt(n, 10)
}
