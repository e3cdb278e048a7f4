package sdk

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/pointsman/pointsman/clientlib"
	"github.com/pointsman/pointsman/clientlib/route"
)

// An application that sends by itself may have endpoints of both kinds: the attempt says
// which SDK its endpoint understands.
func TestAnAttemptSaysWhichSDKItIsFor(t *testing.T) {
	r := setUp(t, openAI, func(c *route.Catalog, _ *clientlib.Config) {
		c.Endpoints[1].Dialect, c.Endpoints[1].APIs = claude.dialect, claude.apis
		c.Workloads[0].APIs = []string{"openai.chat", "anthropic.messages"}
	})
	r.a.then(refuse(500, openAIBroken))
	r.b.then(whole(messageWhole))
	said, err := clientlib.Do(t.Context(), r.client.Workload("chat"), clientlib.Request{Input: 10}, func(ctx context.Context, a clientlib.Attempt) (string, error) {
		secret, err := a.Secret(ctx)
		if err != nil {
			return "", err
		}
		if a.API() == "anthropic.messages" {
			return sendMessage(ctx, a, secret)
		}
		return sendChat(ctx, a, secret)
	})
	if err != nil || said != text {
		t.Fatalf("%q, %v", said, err)
	}
	same(t, "keys", []string{r.a.seen()[0].Header.Get("Authorization"), r.b.seen()[0].Header.Get("X-Api-Key")}, []string{"Bearer secret-a", "secret-b"})
	r.decided("a faulted", "b served")
	r.sent(1, 1)
}

func sendChat(ctx context.Context, a clientlib.Attempt, secret clientlib.Secret) (string, error) {
	api := openai.NewClient(option.WithAPIKey(secret.Reveal()), option.WithBaseURL(a.Endpoint().BaseURL), option.WithMaxRetries(0))
	params := hello()
	params.Model = a.Endpoint().Model
	got, err := chatOf(ctx, api, params, false)
	var failed *openai.Error
	if errors.As(err, &failed) && failed.StatusCode >= 500 {
		return "", &clientlib.Fault{Outcome: clientlib.Outcome{Kind: clientlib.Faulted, Status: failed.StatusCode}, Err: err}
	}
	if err != nil {
		return "", err
	}
	return got.Choices[0].Message.Content, nil
}

func sendMessage(ctx context.Context, a clientlib.Attempt, secret clientlib.Secret) (string, error) {
	base := strings.TrimSuffix(a.Endpoint().BaseURL, "/v1") // this SDK adds it
	api := anthropic.NewClient(anthropicoption.WithAPIKey(secret.Reveal()), anthropicoption.WithBaseURL(base), anthropicoption.WithMaxRetries(0))
	params := helloMessage()
	params.Model = a.Endpoint().Model
	got, err := messageOf(ctx, api, params, false)
	if err != nil {
		return "", err
	}
	return got.Content[0].Text, nil
}
