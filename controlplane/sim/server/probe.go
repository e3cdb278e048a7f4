package server

// recent is the last times to a first token, each with how many others were in flight when
// its request came.
type recent struct {
	last [recents]sample
	n    int
}

type sample struct {
	us     int64
	others int32
}

const (
	recents = 64 // of them the median is taken of those
	nearest = 16 // that are nearest
)

func (r *recent) add(others int32, us int64) {
	r.last[r.n%recents] = sample{us, others}
	r.n++
}

// near is the median of those that came when about so many were in flight, of equally near
// ones the newest; 0: there is none.
func (r *recent) near(others int32) int64 {
	var near [nearest]sample // others: how far off, ascending
	n := 0
	for k := r.n - 1; k >= max(r.n-recents, 0); k-- {
		s := r.last[k%recents]
		s.others = max(s.others-others, others-s.others)
		i := min(n, nearest-1)
		if n == nearest && near[i].others <= s.others {
			continue
		}
		for ; i > 0 && near[i-1].others > s.others; i-- {
			near[i] = near[i-1]
		}
		near[i] = s
		n = min(n+1, nearest)
	}
	return median(near[:n])
}

func median(s []sample) int64 {
	if len(s) == 0 {
		return 0
	}
	for i := 1; i < len(s); i++ {
		for k := i; k > 0 && s[k].us < s[k-1].us; k-- {
			s[k], s[k-1] = s[k-1], s[k]
		}
	}
	return (s[(len(s)-1)/2].us + s[len(s)/2].us) / 2
}
