package fake

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseFault reads NAME=KIND[:HOW][@FROM[-TO]], where HOW is x4 or 2s for slow, a time for throttle, overload, late and
// stall, and a number of tokens for others: gpu-b=fail@8s-18s, gpu-a=slow:x4@10s, openai=throttle:20s, a=cut:40.
func ParseFault(text string) (endpoint string, f Fault, err error) {
	name, rest, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return "", Fault{}, fmt.Errorf("fault %q: want ENDPOINT=KIND[:HOW][@FROM[-TO]], such as gpu-b=fail@8s-18s", text)
	}
	act, when, timed := strings.Cut(rest, "@")
	kind, how, _ := strings.Cut(act, ":")
	errs := []error{f.parseKind(kind), f.parseHow(how)}
	if timed {
		errs = append(errs, f.parseTimes(when))
	}
	if err = errors.Join(errs...); err == nil {
		err = f.check()
	}
	if err != nil {
		return "", Fault{}, fmt.Errorf("fault %q: %w", text, err)
	}
	return name, f, nil
}

func (f *Fault) parseKind(text string) error {
	for i, name := range kindNames[1:] {
		if text == name {
			f.Kind = Kind(i + 1)
			return nil
		}
	}
	return fmt.Errorf("kind %q: want one of %s", text, strings.Join(kindNames[1:], ", "))
}

func (f *Fault) parseHow(text string) (err error) {
	factor, isFactor := strings.CutPrefix(text, "x")
	if text == "" {
		return nil
	}
	switch f.Kind {
	case Slow, Throttle, Overload, Late, Stall:
		if f.Kind == Slow && isFactor {
			f.Factor, err = strconv.ParseFloat(factor, 64)
		} else {
			f.Delay, err = time.ParseDuration(text)
		}
	case Cut, Malformed, Unended, Filter:
		f.Tokens, err = strconv.Atoi(text)
	default:
		err = fmt.Errorf("%s takes no %q", f.Kind, text)
	}
	return err
}

func (f *Fault) parseTimes(text string) error {
	from, to, _ := strings.Cut(text, "-")
	var err, toErr error
	f.From, err = time.ParseDuration(from)
	if to != "" {
		f.To, toErr = time.ParseDuration(to)
	}
	return errors.Join(err, toErr)
}
