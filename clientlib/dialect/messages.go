package dialect

import "bytes"

// messages reads a member of a request for a message.
func (p *survey) messages(name []byte) {
	switch string(name) {
	case "system":
		p.lead = p.weight()
	case "messages":
		p.prompt = p.weight()
	case "tools":
		p.tools[0] = p.tooling()
	case "output_config":
		p.form = formNeed(p.formKind())
	case "output_format": // what output_config was called before
		p.form = formNeed(p.kind())
	case "max_tokens":
		p.limits[0] = p.span()
	default:
		p.skip()
	}
}

// message reads a member of a message, or of an event of one.
func (a *saying) message(name []byte) {
	switch string(name) {
	case "type":
		a.messageEvent(a.word())
	case "message":
		a.nested()
	case "content_block", "delta":
		a.block()
	case "id":
		a.answerID = a.skip()
	case "stop_reason":
		a.stopped(a.word())
	case "content":
		a.whole = a.next() == '['
		for range a.elements {
			a.block()
		}
	default:
		a.skip()
	}
}

// messageEvent reads what an event is called.
func (a *saying) messageEvent(name []byte) {
	switch string(name) {
	case "ping":
		a.part = pinging
	case "message_stop":
		a.part = ending
	case "error":
		a.part = breaking
	}
}

// block reads a block of content, how one begins, or what is added to it or to the message.
func (a *saying) block() {
	for name := range a.members {
		switch string(name) {
		case "type":
			if bytes.HasSuffix(a.word(), []byte("tool_use")) {
				a.tool, a.generated = true, true
			}
		case "text", "thinking", "citation", "content", "data": // data: thoughts that are hidden
			a.say()
		case "partial_json":
			a.tool = true
			a.say()
		case "stop_reason":
			a.stopped(a.word())
		default:
			a.skip()
		}
	}
}

// stopped reads a reason to stop.
func (a *saying) stopped(reason []byte) {
	switch string(reason) {
	case "":
	case "end_turn", "stop_sequence":
		a.ended(Stopped)
	case "max_tokens":
		a.ended(Truncated)
	case "tool_use":
		a.ended(CalledTool)
	case "refusal":
		a.ended(Blocked)
	case "model_context_window_exceeded":
		a.ended(Overflowed)
	default:
		a.ended(Other)
	}
}
