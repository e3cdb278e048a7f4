package clientlib

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/pointsman/pointsman/clientlib/wire"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// Ask is called by the link: somebody asks where this process would send a request.
func (n *news) Ask(q *pb.Question, answer func(*pb.Answer)) {
	if q.GetExplain() == nil {
		answer(&pb.Answer{Error: "this library does not know the question"})
		return
	}
	answer(&pb.Answer{Explain: n.client.explain(q.GetExplain())})
}

// explain says where a request would go by all that this process knows.
func (c *Client) explain(m *pb.ExplainRequest) *pb.ExplainResponse {
	c.mu.Lock()
	x := c.router.Explain(c.clock.now(), m.GetWorkload(), wire.Asked(m))
	c.mu.Unlock()
	out := wire.EncodeExplained(&x)
	out.Time = timestamppb.New(time.Now())
	return out
}
