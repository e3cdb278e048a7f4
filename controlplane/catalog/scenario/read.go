package scenario

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pointsman/pointsman/clientlib/route"
	"github.com/pointsman/pointsman/controlplane/catalog"
	"github.com/pointsman/pointsman/controlplane/sim"
	"github.com/pointsman/pointsman/controlplane/sim/measure"
	"github.com/pointsman/pointsman/controlplane/sim/server"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// reader is one scenario while it is read.
type reader struct {
	doc     *catalog.Document
	root    *catalog.Block
	folder  string // that paths in the scenario start from
	open    func(path string) (io.ReadCloser, error)
	catalog *route.Catalog
	models  map[string]server.Model // by endpoint's name
	set     *Set
}

// open evaluates the file and the catalog that it names.
func open(path string, o Options) (*reader, error) {
	content, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("read scenario: %w", err)
	}
	file := &pb.SourceFile{Name: path, Content: content}
	values, err := catalog.Variables(&pb.Sources{Files: []*pb.SourceFile{file}}, o.Vars, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("read scenario: %w", err)
	}
	doc := catalog.ReadDocument("scenario", file, values)
	r := &reader{doc: doc, root: doc.Root(), folder: filepath.Dir(path), open: o.Open, models: map[string]server.Model{}}
	if r.root == nil {
		return nil, &Error{doc.Findings()}
	}
	r.set = &Set{Variables: doc.Variables(), Rates: map[string]float64{}, Scenario: &sim.Scenario{Name: nameOf(path)}}
	return r, r.readCatalog()
}

func nameOf(path string) string { return strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)) }

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err == nil && len(content) > maxBytes {
		err = fmt.Errorf("%s is larger than %d MiB", path, maxBytes>>20)
	}
	return content, errors.Join(err, f.Close())
}

// place is where a path in the scenario leads.
func (r *reader) place(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(r.folder, path)
}

const defaultSeeds = 10

// defaultWall is a Monday: what a scenario does not date, dates all the same each time.
var defaultWall = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

// read reads all but the catalog, in the order in which one part needs another.
func (r *reader) read() {
	b, s := r.root, r.set.Scenario
	b.Text("title", &r.set.Title)
	b.Text("text", &r.set.Text)
	r.set.Text = strings.TrimSpace(r.set.Text)
	b.Need("title", "duration")
	r.times()
	seeds, bins := int64(defaultSeeds), int64(measure.DefaultBins)
	b.Whole("seeds", 1, maxSeeds, &seeds)
	b.Whole("bins", 1, maxBins, &bins)
	r.set.Seeds, s.Bins = int(seeds), int(bins)
	r.prune()
	r.fleet()
	r.bounds()
	r.callers()
	r.servers()
	r.traffic()
	r.faults()
	r.policies()
	r.assertions()
	b.Close()
	s.Catalog, s.Servers = r.catalog, r.models
}

// bounds are of what a run remembers: each of two numbers may be high, and not both.
func (r *reader) bounds() {
	s, endpoints := r.set.Scenario, len(r.catalog.Endpoints)
	if n := s.Fleet.Clients * endpoints; n > maxPairs {
		r.root.Fail("take fewer of either", "%d clients and %d endpoints are %d pairs; %d at most", s.Fleet.Clients, endpoints, n, maxPairs)
	}
	if n := s.Bins * endpoints; n > maxShown {
		r.root.Wrong("bins", fmt.Sprintf("%d at most", maxShown/endpoints), "is %d, for each of %d endpoints", s.Bins, endpoints)
	}
}

func (r *reader) times() {
	b, s := r.root, r.set.Scenario
	b.Duration("warmup", 0, maxDuration, &s.Warmup)
	b.Duration("duration", time.Second, maxDuration, &s.Duration)
	if s.Duration > 0 && s.Warmup >= s.Duration {
		b.Wrong("warmup", "nothing would be measured", "is not before the duration's end")
	}
	s.Wall = defaultWall.UnixMicro()
	var start string
	if b.Text("start", &start) {
		at, err := time.Parse(time.RFC3339, start)
		if err != nil || at.Year() < 1971 || at.Year() > 9999 {
			b.Wrong("start", `"2026-01-05T09:00:00Z"`, "is %s, which is no time", catalog.Quote(start))
		}
		s.Wall = at.UnixMicro()
	}
}
