package sdk

import (
	"errors"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/route"
)

// asking is the question in the words of one API, answered whole or streamed.
type asking struct {
	name          string
	family        family
	ask           func(*rig, bool) (string, error)
	whole         string // empty: streamed only
	stream        []string
	begun         int // events before the first with content
	failed        []string
	limited, down answer
}

var askings = []asking{
	{"chat", openAI, (*rig).chat, chatWhole, chatStream, 1, []string{chatStream[0], "data: " + openAIBroken}, refuse(429, openAILimited, "Retry-After", "20"), refuse(500, openAIBroken)},
	{"response", openAI, (*rig).response, "", respStream, 3, respFailed, refuse(429, openAILimited, "Retry-After", "20"), refuse(503, openAIBroken)},
	{"message", claude, (*rig).message, messageWhole, messageStream, 3, messageFailed, refuse(429, claudeLimited, "Retry-After", "14", "X-Should-Retry", "true"), refuse(529, claudeOverloaded)},
}

func TestWhatFailsBeforeContentIsAnsweredBySomebodyElse(t *testing.T) {
	for _, k := range askings {
		both(func(streamed bool) {
			firsts := map[string]answer{"limited": k.limited, "down": k.down, "reset": reset}
			second := events(k.stream)
			if streamed {
				firsts["cut"], firsts["no end"], firsts["an error event"] = cut(k.stream, k.begun), events(k.stream[:k.begun]), events(k.failed)
			} else if k.whole == "" {
				return
			} else {
				firsts["cut"], second = half(k.whole), whole(k.whole)
			}
			for rule, first := range firsts {
				r := setUp(t, k.family)
				r.a.then(first)
				r.b.then(second)
				if said, err := k.ask(r, streamed); err != nil || said != text {
					t.Errorf("%s, streamed %v, %s: %q, %v", k.name, streamed, rule, said, err)
				}
				r.sent(1, 1)
			}
		})
	}
}

func TestAStreamThatBreaksAfterContentSaysSo(t *testing.T) {
	for _, k := range askings {
		for rule, first := range map[string]answer{"cut": cut(k.stream, k.begun+1), "no end": events(k.stream[:k.begun+1])} {
			r := setUp(t, k.family)
			r.a.then(first)
			said, err := k.ask(r, true)
			var broke *clientlib.StreamError
			if !errors.As(err, &broke) || broke.Endpoint != "a" || broke.Events != 1 || said != "The ferry" {
				t.Errorf("%s, %s: %q, %v", k.name, rule, said, err)
			}
			r.sent(1, 0)
			r.decided("a faulted")
		}
	}
}

// What an endpoint says of its own failure an SDK tells in its own words; only a response's
// is an event like others to it.
func TestAnErrorEventAfterContentIsTheSDKsOwnError(t *testing.T) {
	isOwn := map[string]func(error) bool{
		"chat":     func(err error) bool { var own *ssestream.StreamError; return errors.As(err, &own) },
		"response": func(err error) bool { var broke *clientlib.StreamError; return errors.As(err, &broke) },
		"message": func(err error) bool {
			var own *anthropic.Error
			return errors.As(err, &own) && own.Type() == anthropic.ErrorTypeOverloadedError
		},
	}
	for _, k := range askings {
		r := setUp(t, k.family)
		r.a.then(events(append(k.stream[:k.begun+1:k.begun+1], k.failed[len(k.failed)-1])))
		if said, err := k.ask(r, true); !isOwn[k.name](err) || said != "The ferry" {
			t.Errorf("%s: %q, %v", k.name, said, err)
		}
		r.decided("a faulted")
		r.sent(1, 0)
	}
}

// A workload that delivers whole answers holds a stream to its end.
func TestAHeldStreamThatBreaksIsAnsweredBySomebodyElse(t *testing.T) {
	for _, k := range askings {
		r := setUp(t, k.family, func(c *route.Catalog, _ *clientlib.Config) { c.Workloads[0].Whole = true })
		r.a.then(cut(k.stream, k.begun+1))
		r.b.then(events(k.stream))
		if said, err := k.ask(r, true); err != nil || said != text {
			t.Errorf("%s: %q, %v", k.name, said, err)
		}
		r.decided("a faulted", "b served")
	}
}
