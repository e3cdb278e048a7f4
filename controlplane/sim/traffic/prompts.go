package traffic

import (
	"errors"
	"io"
	"slices"
	"strconv"
)

// What everybody's prompts begin with says nothing of who belongs together: in Mooncake's
// conversations block 0 is in all, and a key made of it would send all to one home.
const (
	commonRows = 1000 // of which it is found, the first ones
	commonFew  = 32   // with fewer rows there is nothing common
	commonPart = 0.9  // of them begin with it
	commonMax  = 64   // blocks at the most
)

// prompts is a trace's rows with blocks that no other trace has, and keys: a key is the first
// block after what is common. A prompt that has no block more has no key.
type prompts struct {
	laps   *laps
	common []uint64 // as the trace has them
	salt   uint64
	blocks []uint64
}

func openPrompts(t *Trace, chance stream) (*prompts, error) {
	common, err := t.common()
	if err != nil {
		return nil, err
	}
	l, err := openLaps(t, chance)
	if err != nil {
		return nil, err
	}
	return &prompts{laps: l, common: common, salt: hash(t.Path)}, nil
}

func (p *prompts) next(r *row) (key string, err error) {
	if err := p.laps.next(r); err != nil || len(r.blocks) == 0 {
		return "", err
	}
	shared := 0
	if len(r.blocks) >= len(p.common) && slices.Equal(r.blocks[:len(p.common)], p.common) {
		shared = len(p.common)
	}
	// Another lap has other prompts: else all of it would be cached from the one before.
	lap := mix(p.salt ^ p.laps.lap*0x9E3779B97F4A7C15)
	p.blocks = p.blocks[:0]
	for i, id := range r.blocks {
		salt := lap
		if i < shared {
			salt = p.salt
		}
		p.blocks = append(p.blocks, mix(id+salt))
	}
	r.blocks = p.blocks
	if shared == len(r.blocks) {
		return "", nil
	}
	return strconv.FormatUint(r.blocks[shared], 36), nil
}

// common finds the blocks that nearly all prompts begin with.
func (t *Trace) common() ([]uint64, error) {
	if !formats[t.Format].blocks {
		return nil, nil
	}
	file, err := openRows(t)
	if err != nil {
		return nil, err
	}
	defer file.shut()
	var heads [][]uint64
	for r := (row{}); len(heads) < commonRows; {
		if err := file.next(&r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		heads = append(heads, slices.Clone(r.blocks[:min(len(r.blocks), commonMax)]))
	}
	return commonOf(heads), nil
}

func commonOf(heads [][]uint64) (common []uint64) {
	if len(heads) < commonFew {
		return nil
	}
	enough := commonPart * float64(len(heads))
	for {
		n, counts := len(common), map[uint64]int{}
		next, most := uint64(0), 0
		for _, head := range heads {
			if len(head) <= n || !slices.Equal(head[:n], common) {
				continue
			}
			id := head[n]
			if counts[id]++; counts[id] > most {
				next, most = id, counts[id]
			}
		}
		if float64(most) < enough {
			return common
		}
		common = append(common, next)
	}
}
