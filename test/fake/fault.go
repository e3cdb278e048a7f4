package fake

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Kind is a way to be broken.
type Kind uint8

const (
	Healthy  Kind = iota
	Fail          // 500 at once
	Slow          // the first token comes late: × Factor, and Delay later
	Hang          // accepts, and never answers
	Throttle      // 429 with Retry-After: Delay
	Cut           // the answer breaks off after Tokens
	Reset         // the connection is reset before a byte is answered
)

var kindNames = [...]string{"healthy", "fail", "slow", "hang", "throttle", "cut", "reset"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

const (
	defaultFactor = 10
	defaultRetry  = 5 * time.Second
	defaultTokens = 4
)

// Fault is active for requests that arrive from From until To, counted from the start of the endpoint's timeline.
type Fault struct {
	Kind     Kind
	From, To time.Duration // To 0: no end
	Factor   float64       // Slow; 0 with Delay 0: 10
	Delay    time.Duration // Slow; Throttle's Retry-After, 0: 5 s
	Tokens   int           // Cut; 0: 4
}

// Active says whether a request meets the fault that arrives so long after the timeline's start.
func (f Fault) Active(since time.Duration) bool {
	return since >= f.From && (f.To == 0 || since < f.To)
}

func (f Fault) check() error {
	switch {
	case f.Kind == Healthy || int(f.Kind) >= len(kindNames):
		return fmt.Errorf("fault %s: no such kind", f.Kind)
	case f.From < 0 || f.To != 0 && f.To <= f.From:
		return fmt.Errorf("fault %s: from %v to %v is no time", f.Kind, f.From, f.To)
	case f.Factor < 0 || f.Delay < 0 || f.Tokens < 0:
		return fmt.Errorf("fault %s: negative factor %v, delay %v or tokens %d", f.Kind, f.Factor, f.Delay, f.Tokens)
	}
	return nil
}

// late is the time to a first token that would have taken d.
func (f Fault) late(d time.Duration) time.Duration {
	switch {
	case f.Kind != Slow:
		return d
	case f.Factor == 0 && f.Delay == 0:
		return d * defaultFactor
	case f.Factor == 0:
		return d + f.Delay
	}
	return time.Duration(float64(d)*f.Factor) + f.Delay
}

// ParseFault reads NAME=KIND[:HOW][@FROM[-TO]], where HOW is x4 or 2s for slow, the Retry-After for throttle and a
// number of tokens for cut: gpu-b=fail@8s-18s, gpu-a=slow:x4@10s, openai=throttle:20s.
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
	switch {
	case text == "":
		return nil
	case f.Kind == Slow && isFactor:
		f.Factor, err = strconv.ParseFloat(factor, 64)
	case f.Kind == Slow || f.Kind == Throttle:
		f.Delay, err = time.ParseDuration(text)
	case f.Kind == Cut:
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
