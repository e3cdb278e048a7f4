package route

import "math/bits"

const prefixMost = 4096 // bytes of a prompt that make its key (decision-core.md, Affinity)

// Key hashes names, none of them joined with the next: murmur3-32 of seed 0 over, for each,
// its length in bytes, then its bytes, then zeros up to a multiple of four.
func Key(names ...string) uint32 {
	var m murmur
	for _, name := range names {
		m = m.text(name)
	}
	return m.sum()
}

// AffinityKey is what requests share that have one home: on is a session's name or how a
// prompt begins.
func AffinityKey(tenant, workload, on string) uint32 {
	return Key(tenant, workload, on[:min(len(on), prefixMost)])
}

// Rehash is hash k of a key: murmur3-32 of seed 0 over the two.
func Rehash(key, k uint32) uint32 { return murmur{}.word(key).word(k).sum() }

// murmur is murmur3-32 over words of four bytes, lowest first, so that it needs no tail. The
// zero value has seed 0.
type murmur struct{ h, n uint32 }

func (m murmur) word(w uint32) murmur {
	w = bits.RotateLeft32(w*0xCC9E2D51, 15) * 0x1B873593
	return murmur{bits.RotateLeft32(m.h^w, 13)*5 + 0xE6546B64, m.n + 4}
}

func (m murmur) text(s string) murmur {
	m = m.word(uint32(len(s)))
	for ; len(s) >= 4; s = s[4:] {
		m = m.word(uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24)
	}
	if len(s) == 0 {
		return m
	}
	var last uint32
	for i := range len(s) {
		last |= uint32(s[i]) << (8 * i)
	}
	return m.word(last)
}

func (m murmur) sum() uint32 {
	h := m.h ^ m.n
	h = (h ^ h>>16) * 0x85EBCA6B
	h = (h ^ h>>13) * 0xC2B2AE35
	return h ^ h>>16
}
