package route

import "testing"

func TestMurmurIsThePublishedOne(t *testing.T) {
	for _, c := range []struct {
		seed  uint32
		words []uint32
		want  uint32
	}{
		{0, nil, 0},
		{1, nil, 0x514E28B7},
		{0xFFFFFFFF, nil, 0x81F16F39},
		{0, []uint32{0}, 0x2362F9DE},
		{0, []uint32{0xFFFFFFFF}, 0x76293B50},
		{0, []uint32{0x87654321}, 0xF55B516B},
		{0x5082EDEE, []uint32{0x87654321}, 0x2362F9DE},
		{0, []uint32{0x74736574}, 0xBA6BD213},          // "test"
		{0x9747B28C, []uint32{0x61616161}, 0x5A97808A}, // "aaaa"
		{0x9747B28C, []uint32{0x64636261}, 0xF0478627}, // "abcd"
	} {
		m := murmur{h: c.seed}
		for _, w := range c.words {
			m = m.word(w)
		}
		if got := m.sum(); got != c.want {
			t.Errorf("seed %#x, words %#x: %#x, want %#x", c.seed, c.words, got, c.want)
		}
	}
}

// HashWords is murmur3 over the columns of a table.
func HashWords(words []int32) uint32 {
	var m murmur
	for _, w := range words {
		m = m.word(uint32(w))
	}
	return m.sum()
}
