package store

import (
	"fmt"
	"strings"
	"time"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	nearQuota    = 0.8      // of etcd's quota
	fragmented   = 0.5      // of the file's size in use
	fragmentFrom = 64 << 20 // bytes; a smaller file is not worth a defragmentation
	clockAhead   = 5 * time.Second
	raftLag      = 10_000 // entries that a member may be behind the others
	alarmNoSpace = "NOSPACE"
	alarmCorrupt = "CORRUPT"
)

// findings judges facts: what to know, and what to do about it, the worst first.
func findings(f *facts) []*pb.CheckFinding {
	var bad, soon []*pb.CheckFinding
	fail := func(remedy, format string, args ...any) {
		bad = append(bad, &pb.CheckFinding{Severity: pb.Severity_SEVERITY_ERROR, Summary: fmt.Sprintf(format, args...), Remedy: remedy})
	}
	warn := func(remedy, format string, args ...any) {
		soon = append(soon, &pb.CheckFinding{Severity: pb.Severity_SEVERITY_WARNING, Summary: fmt.Sprintf(format, args...), Remedy: remedy})
	}
	if f.quorum != nil {
		fail("start members until a majority runs: routing goes on with what is held meanwhile, and nothing can be published",
			"no majority of etcd answers: %v", f.quorum)
	}
	if r := f.behind; r != nil {
		fail("restore the newest backup, or accept this store as it is: pointsman operator adopt-store",
			"store_regressed: epoch %d, generation %d is held by %s, and etcd has less", r.Epoch, r.Generation, r.By)
	}
	if f.quorum == nil {
		f.checkFleet(warn)
	}
	f.checkAlarms(fail)
	top := f.raftTop()
	for i := range f.members {
		f.checkMember(&f.members[i], warn)
		if st := f.members[i].status; st != nil && st.RaftAppliedIndex+raftLag < top {
			warn("look at its disk and its network", "etcd member %s is %d entries behind", f.members[i].name, top-st.RaftAppliedIndex)
		}
	}
	return append(bad, soon...)
}

type finder func(remedy, format string, args ...any)

// checkFleet looks at what a majority said.
func (f *facts) checkFleet(warn finder) {
	switch {
	case f.led != nil:
		warn("ask again", "who leads is not known: %v", f.led)
	case f.leader == nil:
		warn("look at the logs of the replicas: each of them campaigns", "no replica leads: breakers and speeds are not judged")
	}
	if f.long {
		warn("start etcd's members with --auto-compaction-retention=1h",
			"etcd keeps over %d revisions of its own history: automatic compaction seems to be off", longHistory)
	}
	if ahead := f.audited.Sub(f.now); ahead > clockAhead {
		warn("synchronize the clocks of the replicas' hosts",
			"the last audit record is from %s in the future: this host's clock is behind, or another one's ahead", ahead.Round(time.Second))
	}
}

// checkMember looks at one member's space.
func (f *facts) checkMember(m *memberFacts, warn finder) {
	if m.err != nil {
		warn("start it, or open the way to it from this replica: with each member that is away, less is left of the majority",
			"etcd member %s at %s does not answer: %v", m.name, m.address, m.err)
		return
	}
	st := m.status
	if st.DbSizeQuota > 0 && float64(st.DbSize) > nearQuota*float64(st.DbSizeQuota) {
		warn(f.remedyNoSpace(), "etcd member %s uses %d of the %d MiB of its quota", m.name, st.DbSize>>20, st.DbSizeQuota>>20)
	}
	if !f.embedded && st.DbSize >= fragmentFrom && float64(st.DbSizeInUse) < fragmented*float64(st.DbSize) {
		warn("etcdctl defrag, one member at a time, etcd's leader last",
			"etcd member %s has %d MiB on disk and %d MiB in use", m.name, st.DbSize>>20, st.DbSizeInUse>>20)
	}
}

// checkAlarms looks at what any member knows of the alarms of all.
func (f *facts) checkAlarms(fail finder) {
	var said strings.Builder
	for _, m := range f.members {
		if m.status != nil {
			said.WriteString(strings.Join(m.status.Errors, " "))
		}
	}
	if strings.Contains(said.String(), alarmNoSpace) {
		fail(f.remedyNoSpace(), "etcd is full (alarm %s): it takes deletes only", alarmNoSpace)
	}
	if strings.Contains(said.String(), alarmCorrupt) {
		fail("remove the member that etcdctl alarm list names, empty its disk and add it again", "etcd found corrupt data (alarm %s)", alarmCorrupt)
	}
}

func (f *facts) remedyNoSpace() string {
	if f.embedded {
		return "wait two minutes: it gets back what space it can by itself; after that, take revisions' tags away"
	}
	return "compact and defragment each member, or raise quota-backend-bytes, then: etcdctl alarm disarm"
}

// raftTop is how far the member that is ahead has come.
func (f *facts) raftTop() uint64 {
	var top uint64
	for _, m := range f.members {
		if m.status != nil {
			top = max(top, m.status.RaftAppliedIndex)
		}
	}
	return top
}
