package deployed

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"sigs.k8s.io/yaml"

	agentmetrics "github.com/pointsman/pointsman/agent/metrics"
	"github.com/pointsman/pointsman/controlplane/metrics"
)

var described = regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)

// exported are the labels of each metric that the programs have.
func exported(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{"pointsman_ready": nil, "pointsman_build_info": {"version", "go"}} // cmd/daemon
	for _, c := range []prometheus.Collector{
		agentmetrics.Collector(func() agentmetrics.Figures { return agentmetrics.Figures{} }, agentmetrics.Agent()),
		metrics.Collector(func() metrics.Figures { return metrics.Figures{} }),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	} {
		descs := make(chan *prometheus.Desc, 1000)
		c.Describe(descs)
		close(descs)
		for d := range descs {
			m := described.FindStringSubmatch(d.String())
			if m == nil {
				t.Fatalf("what is %s", d)
			}
			all[m[1]] = strings.Split(m[2], ",")
		}
	}
	if len(all) < 40 {
		t.Fatalf("only %d metrics", len(all))
	}
	return all
}

var (
	selector = regexp.MustCompile(`\b((?:pointsman|process|go)_[a-z_]+)(?:\{([^}]*)\})?`)
	matcher  = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!=|=|!~)\s*"[^"]*"`)
	grouping = regexp.MustCompile(`by \(([^)]*)\)`)
)

// checkExpr holds an expression against what there is.
func checkExpr(t *testing.T, where, expr string, known map[string][]string) {
	t.Helper()
	found := selector.FindAllStringSubmatch(expr, -1)
	if len(found) == 0 {
		t.Errorf("%s: no metric in %s", where, expr)
	}
	labels := []string{"job", "instance"}
	for _, m := range found {
		have, ok := known[m[1]]
		if !ok {
			t.Errorf("%s: no program has %s", where, m[1])
		}
		labels = append(labels, have...)
		for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(append(have, "job", "instance"), l[1]) {
				t.Errorf("%s: %s has no label %s", where, m[1], l[1])
			}
		}
	}
	for _, m := range grouping.FindAllStringSubmatch(expr, -1) {
		for l := range strings.SplitSeq(m[1], ",") {
			if !slices.Contains(labels, strings.TrimSpace(l)) {
				t.Errorf("%s: grouped by %s, which nothing in %s has", where, l, expr)
			}
		}
	}
	if strings.Count(expr, "(") != strings.Count(expr, ")") || strings.Count(expr, "{") != strings.Count(expr, "}") {
		t.Errorf("%s: brackets of %s", where, expr)
	}
}

func TestEveryPanelShowsWhatIsExported(t *testing.T) {
	var board struct {
		UID, Title string
		Panels     []struct {
			ID                       int
			Type, Title, Description string
			Targets                  []struct{ Expr string }
			GridPos                  struct{ H, W, X, Y int }
		}
		Templating struct{ List []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(read(t, deploy, "grafana", "pointsman.json")), &board); err != nil {
		t.Fatal(err)
	}
	known, ids, shown := exported(t), map[int]bool{}, 0
	for _, p := range board.Panels {
		if ids[p.ID] {
			t.Errorf("%s: its id is another's", p.Title)
		}
		ids[p.ID] = true
		if p.Type == "row" {
			continue
		}
		shown++
		if p.Title == "" || p.Description == "" || len(p.Targets) == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %d (%s) says too little, or is off the board", p.ID, p.Title)
		}
		for _, target := range p.Targets {
			for _, v := range regexp.MustCompile(`\$([a-z]+)`).FindAllStringSubmatch(target.Expr, -1) {
				if !slices.ContainsFunc(board.Templating.List, func(have struct{ Name string }) bool { return have.Name == v[1] }) {
					t.Errorf("%s: no variable %s", p.Title, v[1])
				}
			}
			checkExpr(t, p.Title, strings.ReplaceAll(target.Expr, "$__rate_interval", "1m"), known)
		}
	}
	if board.UID == "" || shown < 12 {
		t.Errorf("board %q has %d panels", board.UID, shown)
	}
}

// anchors are those of a page's headings, as GitHub makes them.
func anchors(t *testing.T, page string) []string {
	t.Helper()
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(page, -1) {
		name := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(name, " ", "-"))
	}
	return all
}

func TestEveryAlertSaysWhatToDo(t *testing.T) {
	var file struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []struct {
				Alert       string            `json:"alert"`
				Expr        string            `json:"expr"`
				For         string            `json:"for"`
				Labels      map[string]string `json:"labels"`
				Annotations map[string]string `json:"annotations"`
			} `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.UnmarshalStrict([]byte(read(t, deploy, "alerts", "pointsman.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	known, page, alerts := exported(t), read(t, "../../docs/running.md"), 0
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			alerts++
			checkExpr(t, r.Alert, r.Expr, known)
			if d, err := time.ParseDuration(r.For); err != nil || d < time.Minute {
				t.Errorf("%s: for %q: %v", r.Alert, r.For, err)
			}
			if s := r.Labels["severity"]; s != "page" && s != "ticket" {
				t.Errorf("%s: severity %q", r.Alert, s)
			}
			for _, a := range []string{"summary", "description"} {
				if r.Annotations[a] == "" {
					t.Errorf("%s: no %s", r.Alert, a)
				}
			}
			url, anchor, _ := strings.Cut(r.Annotations["runbook_url"], "#")
			if filepath.Base(url) != "running.md" || !slices.Contains(anchors(t, page), anchor) || anchor != strings.ToLower(r.Alert) {
				t.Errorf("%s: what to do is at %s, which is not there", r.Alert, r.Annotations["runbook_url"])
			}
		}
	}
	if alerts != 6 {
		t.Errorf("%d alerts", alerts)
	}
}

func TestThePageNamesEveryMetric(t *testing.T) {
	page := read(t, "../../docs/running.md")
	for name := range exported(t) {
		if strings.HasPrefix(name, "pointsman_") && !strings.Contains(page, "`"+name+"`") && !strings.Contains(page, "`"+strings.TrimPrefix(name, "pointsman_")+"`") {
			t.Errorf("docs/running.md does not say what %s is", name)
		}
	}
}
