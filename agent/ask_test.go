package agent

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func TestAQuestionGoesDownTwoRelaysAndItsAnswerUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startChain(t, catalog(1, "a"))
		defer c.stop()
		time.Sleep(15 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		got, err := c.replica.hub.Ask(ctx, "leaf", &pb.Question{Explain: &pb.ExplainRequest{Workload: "chat"}})
		if err != nil || got.GetError() != "asked leaf" {
			t.Errorf("got %v, %v", got, err)
		}
		c.leaf.stop()
		time.Sleep(time.Second)
		if got, err = c.replica.hub.Ask(ctx, "leaf", &pb.Question{}); err == nil && got.GetError() == "" {
			t.Errorf("a leaf that is gone answered %v", got)
		}
	})
}
