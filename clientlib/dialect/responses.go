package dialect

import "bytes"

// responses reads a member of a request for a response.
func (p *survey) responses(name []byte) {
	switch string(name) {
	case "instructions":
		p.lead = p.weight()
	case "input":
		p.prompt = p.weight()
	case "tools":
		p.tools[0] = p.tooling()
	case "text":
		p.form = formNeed(p.formKind())
	case "max_output_tokens":
		p.limits[0] = p.span()
	default:
		p.skip()
	}
}

// response reads a member of a response, or of an event of one.
func (a *saying) response(name []byte) {
	switch string(name) {
	case "type":
		a.responseEvent(a.word())
	case "delta":
		a.grew = filled(a.skip())
	case "partial_image_b64":
		a.say()
	case "item":
		a.item()
	case "response":
		a.nested()
	case "id":
		a.answerID = a.skip()
	case "status":
		a.status(a.word())
	case "incomplete_details":
		a.incomplete()
	case "output":
		a.output()
	default:
		a.skip()
	}
}

// responseEvent reads what an event is called.
func (a *saying) responseEvent(name []byte) {
	switch string(name) {
	case "response.completed", "response.incomplete":
		a.part = ending
	case "response.failed", "error":
		a.part = breaking
	case "keepalive", "response.keep_alive": // OpenAI, OpenRouter
		a.part = pinging
	default:
		if bytes.HasSuffix(name, []byte(".delta")) {
			a.part = growing
			a.tool = bytes.Contains(name, []byte("_call"))
		}
	}
}

// item reads a part of the output. A tool's call begins to be heard with its item.
func (a *saying) item() {
	switch kind := a.kind(); string(kind) {
	case "function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call", "mcp_approval_request":
		a.waits, a.tool, a.generated = true, true, true
	default:
		if bytes.HasSuffix(kind, []byte("_call")) { // the provider's own tool
			a.tool, a.generated = true, true
		}
	}
}

func (a *saying) output() {
	a.whole = a.next() == '['
	for range a.elements {
		a.item()
	}
}

func (a *saying) status(status []byte) {
	switch string(status) {
	case "completed":
		a.finish = Stopped
	case "failed":
		a.part = breaking
	case "incomplete", "cancelled":
		a.ended(Other)
	}
}

func (a *saying) incomplete() {
	for name := range a.members {
		if string(name) != "reason" {
			a.skip()
			continue
		}
		switch string(a.word()) {
		case "max_output_tokens":
			a.finish = Truncated
		case "content_filter":
			a.finish = Blocked
		}
	}
}
