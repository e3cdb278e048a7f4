package daemon

import (
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/hashicorp/go-hclog"
)

// List is a flag that may be repeated, or hold several values separated by commas.
type List []string

func (l *List) String() string { return strings.Join(*l, ",") }

// Set adds to the list.
func (l *List) Set(s string) error {
	*l = append(*l, strings.Split(s, ",")...)
	return nil
}

// own are the flags of every daemon.
type own struct {
	level   string
	json    bool
	version bool
}

func (o *own) flags(f *flag.FlagSet) {
	f.StringVar(&o.level, "log-level", "info", "`level`: trace, debug, info, warn or error")
	f.BoolVar(&o.json, "log-json", false, "log JSON")
	f.BoolVar(&o.version, "version", false, "print the version")
}

// CheckLevel says whether there is a log level of this name.
func CheckLevel(name string) error {
	if hclog.LevelFromString(name) == hclog.NoLevel {
		return fmt.Errorf("log level %q: none of trace, debug, info, warn, error", name)
	}
	return nil
}

func (o *own) logger(program string, w io.Writer) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Name: strings.TrimPrefix(program, "pointsman-"), Level: hclog.LevelFromString(o.level), JSONFormat: o.json, Output: w,
	})
}

func (p Program) flags(o *own) *flag.FlagSet {
	f := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	f.SetOutput(io.Discard) // Run says what is wrong
	p.Flags(f)
	o.flags(f)
	return f
}

// parse reads flags, and the environment where a flag is not given: POINTSMAN_STATE_DIR
// stands for -state-dir; an empty variable is none.
func (p Program) parse(o *own, in Process) error {
	f := p.flags(o)
	if err := f.Parse(in.Args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("argument %q: there are flags only", f.Arg(0))
	}
	given := map[string]bool{"version": true}
	f.Visit(func(a *flag.Flag) { given[a.Name] = true })
	var err error
	f.VisitAll(func(a *flag.Flag) {
		name := "POINTSMAN_" + strings.ToUpper(strings.ReplaceAll(a.Name, "-", "_"))
		value := lookup(in.Environ, name)
		if given[a.Name] || value == "" || err != nil {
			return
		}
		if err = f.Set(a.Name, value); err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
	})
	return err
}

func lookup(environ []string, name string) string {
	for _, v := range environ {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

func (p Program) help(w io.Writer) {
	fmt.Fprint(w, p.About, `
Each flag can be set as POINTSMAN_ and its name, such as POINTSMAN_LOG_LEVEL; several values of one are separated by
commas. Logs go to stderr. Exit codes: 0 stopped as asked, 1 failed, 2 wrong usage.

Flags:
`)
	f := p.flags(&own{})
	f.SetOutput(w)
	f.PrintDefaults()
}
