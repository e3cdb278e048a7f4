package wire

// Clocks notices a suspend: the wall clock went on while the monotonic one stood still
// (protocol.md, rule 9). Both are in µs, as of the last look.
type Clocks struct{ Wall, Mono int64 }

// asleep is the least jump that counts, µs.
const asleep = 5e6

// Jump is by how much the wall clock ran ahead since the last look; 0: not enough to count.
func (c *Clocks) Jump(wall, mono int64) int64 {
	before := *c
	*c = Clocks{wall, mono}
	ahead := (wall - before.Wall) - (mono - before.Mono)
	if ahead <= asleep {
		return 0
	}
	return ahead
}
