package wire

import "testing"

// Rule 9: a message is dated from when this side sent what its sender had seen.
func TestRule9AMessageIsDatedFromTheSendItHasSeen(t *testing.T) {
	d := NewDates(1000)
	for i := range int64(300) {
		d.Sent(1000 + 10*i) // sequence i+1
	}
	const now = 10_000
	for _, test := range []struct {
		name string
		seen uint64
		held int64
		want int64
	}{
		{"the last one", 300, 0, 3990},
		{"held for a while", 300, 500, 4490},
		{"an earlier one", 290, 5, 3895},
		{"one long before, as nothing since was seen", 60, 0, 1590},
		{"one that is not remembered dates from the start", 10, 5, 1005},
		{"none dates from the start", 0, 500, 1000},
		{"one that was never sent proves nothing", 301, 500, 1000},
		{"held for less than nothing", 300, -9, 3990},
		{"held for ever is not later than now", 300, 1 << 62, now},
	} {
		if got := d.Of(now, test.seen, test.held); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

// An idle stream remembers little; one whose other side falls behind all that it may.
func TestRule9DatesGrowOnlyWhileTheOtherSideIsBehind(t *testing.T) {
	d := NewDates(1)
	for i := range int64(5000) {
		if s := d.Sent(i + 1); s%8 == 0 {
			d.Of(i+1, s, 0)
		}
	}
	if len(d.ring) != rememberedFirst {
		t.Errorf("%d times are kept of a stream that is read", len(d.ring))
	}
	for i := range int64(5000) {
		d.Sent(5001 + i)
	}
	if len(d.ring) != remembered {
		t.Errorf("%d times are kept of one that is not, want %d", len(d.ring), remembered)
	}
	for back := range int64(remembered) {
		if got, want := d.Of(20_000, d.last-uint64(back), 0), 10_000-back; got != want {
			t.Fatalf("the send %d before the last is dated %d, want %d", back, got, want)
		}
	}
}
