package traffic

// Labels is what is said of every request of a source.
type Labels struct {
	Workload  string
	Tenant    string
	Needs     []string
	Stream    bool
	MaxOutput int64   // tokens; 0: not said. Answers that would be longer end there.
	Deadline  int64   // µs since the arrival; 0: none
	Cancel    float64 // part of the requests whose callers leave
	Patience  int64   // µs, the mean (exponential) after which those leave; 0: patienceDefault
}

// patienceDefault is after how many µs, in the mean, callers that leave do so.
const patienceDefault = 10_000_000

// labels fills in arrivals.
type labels struct {
	all      Arrival
	cancel   float64
	patience float64
	chance   stream
	leaving  stream
}

func newLabels(l *Labels, seed uint64, name string) labels {
	patience := l.Patience
	if patience == 0 {
		patience = patienceDefault
	}
	return labels{
		all: Arrival{
			Request:   Request{Workload: l.Workload, Tenant: l.Tenant, Needs: l.Needs, Stream: l.Stream},
			MaxOutput: l.MaxOutput, Deadline: l.Deadline,
		},
		cancel: l.Cancel, patience: float64(patience),
		chance: drawn(seed, name, forChances), leaving: drawn(seed, name, forLeaving),
	}
}

// next makes of a what all requests of the source have, and what each draws for itself.
func (l *labels) next(a *Arrival) {
	*a = l.all
	a.Chance = uint32(l.chance.next() >> 32)
	if l.cancel > 0 {
		leaves, after := l.leaving.unit() < l.cancel, l.leaving.exponential()
		if leaves {
			a.Cancel = 1 + int64(after*l.patience)
		}
	}
}

// size says how long a prompt and its answer are.
func (l *labels) size(a *Arrival, input, output int64) {
	a.Input, a.Output = input, capped(output, l.all.MaxOutput)
}

// capped is how long an answer becomes; most 0: as long as it would.
func capped(output, most int64) int64 {
	if most > 0 {
		return min(output, most)
	}
	return output
}
