package journal

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// served runs a journal and its service until the test ends. It is for a bubble.
func served(t *testing.T, c Config) (*Journal, pb.RecordServiceClient) {
	t.Helper()
	j, l := Open(c), bufconn.Listen(1<<16)
	ctx, stop := context.WithCancel(t.Context())
	server := grpc.NewServer()
	j.Register(server)
	ended := make(chan struct{}, 2)
	go func() { j.Run(ctx); ended <- struct{}{} }()
	go func() { _ = server.Serve(l); ended <- struct{}{} }()
	conn, err := grpc.NewClient("passthrough:x", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		server.Stop()
		stop()
		<-ended
		<-ended
	})
	return j, pb.NewRecordServiceClient(conn)
}

// ask is the numbers that a query is answered with, or the code of its refusal.
func ask(t *testing.T, c pb.RecordServiceClient, q *pb.ListRecordsRequest) string {
	t.Helper()
	s, err := c.ListRecords(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	var all []*pb.Record
	for {
		m, err := s.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return ids(all)
		case err != nil:
			return status.Code(err).String()
		}
		all = append(all, m.Records...)
	}
}

func TestAQueryChooses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, c := served(t, Config{})
		failed := attempt(2, "b")
		failed.GetAttempt().Outcome = "faulted"
		j.Put("leaf-1", &pb.Records{Records: []*pb.Record{attempt(1, "a"), failed, attempt(2, "a")}})
		synctest.Wait()
		time.Sleep(time.Minute)
		later := time.Now().UnixMicro()
		j.Put("leaf-2", &pb.Records{Records: []*pb.Record{attempt(2, "a"), {
			TimeUs: later, What: &pb.Record_Event{Event: &pb.Event{Kind: "opened", Endpoint: "a"}},
		}}})
		synctest.Wait()
		for _, q := range []struct {
			query *pb.ListRecordsRequest
			want  string
		}{
			{&pb.ListRecordsRequest{}, "1 2 3 4 5"},
			{&pb.ListRecordsRequest{Limit: 2}, "4 5"},
			{&pb.ListRecordsRequest{Limit: 9}, "1 2 3 4 5"},
			{&pb.ListRecordsRequest{Limit: 1, SinceUs: later}, "5"},
			{&pb.ListRecordsRequest{Limit: 1, Endpoint: "b"}, "2"},
			{&pb.ListRecordsRequest{SinceUs: later}, "4 5"},
			{&pb.ListRecordsRequest{SinceUs: later + 1}, ""},
			{&pb.ListRecordsRequest{Leaf: "leaf-1"}, "1 2 3"},
			{&pb.ListRecordsRequest{Endpoint: "a"}, "1 3 4 5"},
			{&pb.ListRecordsRequest{Workload: "chat"}, "1 2 3 4"},
			{&pb.ListRecordsRequest{Outcome: "faulted"}, "2"},
			{&pb.ListRecordsRequest{Outcome: "opened"}, "5"},
			{&pb.ListRecordsRequest{Kind: pb.RecordKind_RECORD_KIND_EVENT}, "5"},
			{&pb.ListRecordsRequest{Kind: pb.RecordKind_RECORD_KIND_ATTEMPT, Leaf: "leaf-2"}, "4"},
			{&pb.ListRecordsRequest{Id: 3}, "2 3"}, // leaf-2 has a call 2 of its own
			{&pb.ListRecordsRequest{Id: 5}, "5"},
			{&pb.ListRecordsRequest{Id: 6}, "NotFound"},
		} {
			if got := ask(t, c, q.query); got != q.want {
				t.Errorf("%v: %q, want %q", q.query, got, q.want)
			}
		}
	})
}

// Records that come while the last so many are looked for are not among them.
func TestTheLastSoManyAreNoMore(t *testing.T) {
	j, out := Open(Config{}), &sent{}
	l := listing{query: &pb.ListRecordsRequest{Limit: 2}, cursor: cursor{journal: j}, out: out}
	defer l.cursor.close()
	put := func() {
		j.Put("leaf", &pb.Records{Records: []*pb.Record{attempt(1, "a"), attempt(2, "a"), attempt(3, "a")}})
		j.write()
	}
	put()
	but := l.passed()
	put()
	if err := l.rest(but, l.query.Limit); err != nil || ids(out.records) != "2 3" {
		t.Errorf("%q, %v", ids(out.records), err)
	}
}

// sent is a stream that keeps what is sent.
type sent struct {
	grpc.ServerStreamingServer[pb.ListRecordsResponse]
	records []*pb.Record
}

func (s *sent) Send(m *pb.ListRecordsResponse) error {
	s.records = append(s.records, m.Records...)
	return nil
}

func TestAStreamFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, c := served(t, Config{Dir: t.TempDir()})
		j.Put("leaf", &pb.Records{Records: []*pb.Record{attempt(1, "a"), attempt(1, "b"), attempt(1, "b")}})
		synctest.Wait()
		s, err := c.ListRecords(t.Context(), &pb.ListRecordsRequest{Endpoint: "b", Limit: 1, Follow: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"3", "5", "6"} {
			m, err := s.Recv()
			if err != nil || ids(m.Records) != want {
				t.Fatalf("%v, %v, want %s", m, err, want)
			}
			switch want {
			case "3":
				j.Put("leaf", &pb.Records{Records: []*pb.Record{attempt(2, "a"), attempt(2, "b")}})
			case "5":
				j.Put("leaf", &pb.Records{Records: []*pb.Record{attempt(3, "b")}})
			}
		}
	})
}

// Nobody waits for a reader that does not read, and what it holds is bounded.
func TestAReaderThatSleepsIsToldWhatItMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, c := served(t, Config{})
		s, err := c.ListRecords(t.Context(), &pb.ListRecordsRequest{Follow: true})
		if err != nil {
			t.Fatal(err)
		}
		const all = 20_000
		for range all / 10 {
			var m pb.Records
			for range 10 {
				m.Records = append(m.Records, attempt(1, strings.Repeat("x", 200)))
			}
			j.Put("leaf", &m)
			synctest.Wait()
		}
		var n, missed, last uint64
		for last < all {
			m, err := s.Recv()
			if err != nil {
				t.Fatal(err)
			}
			n, missed = n+uint64(len(m.Records)), missed+m.Missed
			if len(m.Records) > 0 {
				last = m.Records[len(m.Records)-1].Id
			}
		}
		if missed == 0 || n+missed != all {
			t.Errorf("read %d, missed %d of %d", n, missed, all)
		}
	})
}

func TestStreamsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := served(t, Config{})
		ctx, stop := context.WithCancel(t.Context())
		for range maxStreams {
			if _, err := c.ListRecords(ctx, &pb.ListRecordsRequest{Follow: true}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if got := ask(t, c, &pb.ListRecordsRequest{}); got != codes.ResourceExhausted.String() {
			t.Errorf("one more: %s", got)
		}
		stop()
		synctest.Wait()
		if got := ask(t, c, &pb.ListRecordsRequest{}); got != "" {
			t.Errorf("after they ended: %s", got)
		}
	})
}
