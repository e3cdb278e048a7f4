package journal

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// The bounds of what is served.
const (
	maxStreams = 16       // at once
	maxAnswer  = 64 << 10 // bytes of a message, and a record more
)

type service struct {
	pb.UnimplementedRecordServiceServer
	journal *Journal
}

// Register adds the record service to a server.
func (j *Journal) Register(s *grpc.Server) { pb.RegisterRecordServiceServer(s, service{journal: j}) }

// ListRecords sends what is kept, and what comes. A reader that is slow misses what is
// overwritten meanwhile: it is told how much, and nobody waits for it.
func (s service) ListRecords(q *pb.ListRecordsRequest, out grpc.ServerStreamingServer[pb.ListRecordsResponse]) error {
	select {
	case s.journal.serving <- struct{}{}:
	default:
		return status.Errorf(codes.ResourceExhausted, "%d others read records already", maxStreams)
	}
	defer func() { <-s.journal.serving }()
	l := listing{query: q, cursor: cursor{journal: s.journal, since: q.SinceUs}, out: out}
	defer l.cursor.close()
	if q.Id != 0 {
		return l.one(q.Id)
	}
	return l.run(out.Context())
}

// listing is one stream.
type listing struct {
	query  *pb.ListRecordsRequest
	cursor cursor
	out    grpc.ServerStreamingServer[pb.ListRecordsResponse]
	answer []*pb.Record
	size   int // bytes of it
}

func (l *listing) run(ctx context.Context) error {
	if err := l.rest(l.passed(), l.query.Limit); err != nil {
		return err
	}
	for l.query.Follow {
		more := l.cursor.journal.more()
		if err := l.rest(0, 0); err != nil {
			return err
		}
		select {
		case <-more:
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}
	return nil
}

// passed is how many of those that there are come before the last so many.
func (l *listing) passed() int {
	if l.query.Limit == 0 {
		return 0
	}
	c := cursor{journal: l.cursor.journal, since: l.cursor.since}
	defer c.close()
	n := 0
	for r := c.next(); r != nil; r = c.next() {
		if chosen(l.query, r) {
			n++
		}
	}
	return max(n-int(l.query.Limit), 0)
}

// rest sends what there is from here on, but for the first so many; and so many at most, 0: all.
func (l *listing) rest(but int, most uint32) error {
	for r := l.cursor.next(); r != nil; r = l.cursor.next() {
		if !chosen(l.query, r) {
			continue
		}
		if but--; but >= 0 {
			l.cursor.missed = 0 // before what is asked for
			continue
		}
		if err := l.add(r); err != nil {
			return err
		}
		if most--; most == 0 {
			break
		}
	}
	return l.flush()
}

// one sends the record of a number, and what else there is of its call.
func (l *listing) one(number uint64) error {
	wanted := l.find(number)
	if wanted == nil {
		return status.Errorf(codes.NotFound, "no record %d: never made, or overwritten", number)
	}
	call := wanted.GetAttempt().GetCall()
	whole := cursor{journal: l.cursor.journal}
	defer whole.close()
	for r := whole.next(); r != nil; r = whole.next() {
		if r.Id == number || call != 0 && r.Leaf == wanted.Leaf && r.GetAttempt().GetCall() == call {
			if err := l.add(r); err != nil {
				return err
			}
		}
	}
	return l.flush()
}

func (l *listing) find(number uint64) *pb.Record {
	for r := l.cursor.next(); r != nil; r = l.cursor.next() {
		if r.Id == number {
			return r
		}
	}
	return nil
}

func (l *listing) add(r *pb.Record) error {
	l.answer = append(l.answer, r)
	if l.size += proto.Size(r); l.size < maxAnswer {
		return nil
	}
	return l.flush()
}

func (l *listing) flush() error {
	if len(l.answer) == 0 && l.cursor.missed == 0 {
		return nil
	}
	m := &pb.ListRecordsResponse{Records: l.answer, Missed: l.cursor.missed}
	l.answer, l.size, l.cursor.missed = nil, 0, 0
	return l.out.Send(m)
}

// chosen tells whether a query asks for a record.
func chosen(q *pb.ListRecordsRequest, r *pb.Record) bool {
	if r.TimeUs < q.SinceUs || q.Leaf != "" && q.Leaf != r.Leaf {
		return false
	}
	workload, endpoint, outcome, kind := about(r)
	return (q.Kind == pb.RecordKind_RECORD_KIND_UNSPECIFIED || q.Kind == kind) &&
		matches(q.Workload, workload) && matches(q.Endpoint, endpoint) && matches(q.Outcome, outcome)
}

func about(r *pb.Record) (workload, endpoint, outcome string, kind pb.RecordKind) {
	if e := r.GetEvent(); e != nil {
		return e.Workload, e.Endpoint, e.Kind, pb.RecordKind_RECORD_KIND_EVENT
	}
	a := r.GetAttempt()
	return a.GetWorkload(), a.GetEndpoint(), a.GetOutcome(), pb.RecordKind_RECORD_KIND_ATTEMPT
}

func matches(wanted, value string) bool { return wanted == "" || wanted == value }
