package route

// NodeReport is what the agent of one node saw itself. It counts at most once, by (Node,
// Incarnation, Sequence), and says nothing of what is not in it.
type NodeReport struct {
	Node, Locality        string
	Incarnation, Sequence uint64
	At                    int64 // when it was seen, on the reader's clock, µs
	Engines               []EngineLoad
	Reaches               []Reach
}

// EngineLoad is what one model server says of its load. Absent: it does not say.
type EngineLoad struct {
	Endpoint string // an instance by its own name
	Identity uint64

	Running, Waiting float64 // requests
	KVUsed           float64 // share of the cache in use, 0 to 1

	PromptTPS, OutputTPS float64 // tokens a second since the reading before; of the prompt those that were not cached
}

// Reach says whether an address takes a connection; no more.
type Reach struct {
	Endpoint string // an instance by its own name
	Identity uint64
	Reached  bool
	Reason   string // why not
	Connect  int64  // µs that it took
}
