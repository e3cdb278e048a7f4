package catalog

import (
	"cmp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// notRun is what the language has and this version does not run yet. Each is said once.
var notRun = []struct {
	what string
	at   func(*set) string // the first place that has it; "": none
}{
	{"guard", func(s *set) string {
		return first("workload.", ".guard", s.workloads, func(w *pb.Workload) bool { return !proto.Equal(w.Guard, defaultGuard()) })
	}},
	{"on_cutoff", func(s *set) string {
		return first("quota.", ".on_cutoff", s.quotas, func(q *pb.Quota) bool { return q.OnCutoff != defaultOnCutoff })
	}},
	{"metrics of triton and tgi", func(s *set) string {
		return first("endpoint.", ".metrics", s.endpoints, func(e *pb.Endpoint) bool { return slices.Contains(unread, e.Metrics) })
	}},
	{"adapters", func(s *set) string {
		return first("endpoint.", ".adapters", s.endpoints, func(e *pb.Endpoint) bool { return len(e.Adapters) > 0 })
	}},
	{"tool", func(s *set) string { return first("tool.", "", s.tools, func(*pb.Tool) bool { return true }) }},
}

// unread are the engines whose metrics agents of this version do not read.
var unread = []string{"triton", "tgi"}

// alone is the first limit that each process keeps to by itself: nobody divides them yet.
func (s *set) alone() string {
	return cmp.Or(
		first("quota.", "", s.quotas, limited),
		first("tenant.", ".caps", s.tenants, func(t *pb.Tenant) bool { return t.Caps != nil }),
		first("tenant.", ".budget", s.tenants, func(t *pb.Tenant) bool { return t.Budget != nil }),
	)
}

// served is what the libraries of this version speak: APIs by dialect.
var served = map[string][]string{
	"openai":            openAI,
	"openai-compatible": openAI,
	"azure-openai":      openAI,
	"vllm":              openAI,
	"anthropic":         {"anthropic.messages"},
	"http":              {"http"},
}

var openAI = []string{"openai.chat", "openai.responses", "openai.embeddings"}

func first[M any](before, after string, all map[string]M, has func(M) bool) string {
	for _, name := range keys(all) {
		if has(all[name]) {
			return before + name + after
		}
	}
	return ""
}

// withoutEffect warns of what is written and does nothing, or nothing yet.
func (j *judgement) withoutEffect() {
	for _, n := range notRun {
		if at := n.at(j.set); at != "" {
			j.warn(at, "it is checked and stored, and has no effect yet", "%s: not run by this version", n.what)
		}
	}
	if at := j.set.alone(); at != "" {
		j.warn(at, "so many processes take so many times as much: write each one's part", "quotas, caps and budgets bind each process alone in this version")
	}
	for _, name := range keys(j.set.providers) {
		p := j.set.providers[name]
		if p.Dialect != "" && served[p.Dialect] == nil {
			j.warn("provider."+name+".dialect", "its endpoints are out by the gate unsupported", "dialect %s is not spoken by this version's libraries", quote(p.Dialect))
		}
		if slices.Contains(fixedVersion, p.Dialect) {
			j.idle("provider."+name+".api_version", "dialect "+p.Dialect+" has no versions")
		}
	}
	for _, name := range keys(j.set.endpoints) {
		if j.set.endpoints[name].Instances == nil {
			j.idle("endpoint."+name+".metrics", "it is read from instances")
		}
		j.unspoken(name)
	}
	j.unusable()
}

// unspoken warns of APIs that the libraries do not speak with the endpoint's dialect.
func (j *judgement) unspoken(endpoint string) {
	e := j.set.endpoints[endpoint]
	dialect := j.set.providers[e.Provider].GetDialect()
	for _, api := range e.Apis {
		if spoken := served[dialect]; spoken != nil && !slices.Contains(spoken, api) {
			j.warn("endpoint."+endpoint+".apis", "no request of it can be sent there; dialect "+dialect+" has "+strings.Join(spoken, ", "),
				"api %s is not spoken by this version's libraries with dialect %s", quote(api), quote(dialect))
		}
	}
}

// unusable names the workloads that this version's libraries would not run, by asking their code.
func (j *judgement) unusable() {
	resources, err := j.set.resources()
	if err != nil {
		return // said where the resources are made
	}
	_, unusable, _ := wire.Catalog(stateOf(resources), true)
	for _, u := range unusable {
		name, at := u.GetWorkload(), ".affinity"
		if j.spoiled("workload", name) {
			continue // said as it was found
		}
		if w := j.set.workloads[name]; strings.HasPrefix(u.GetReason(), "strategy") {
			at = ".balance." + w.GetBalance().GetStrategy()
		}
		j.warn("workload."+name+at, "every call of it will fail", "workload %s is unusable to this version's libraries: %s", quote(name), u.GetReason())
	}
}
