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
