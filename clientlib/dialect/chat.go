package dialect

// chat reads a member of a chat completion's request.
func (p *survey) chat(name []byte) {
	switch string(name) {
	case "messages":
		p.prompt = p.weight()
	case "tools":
		p.tools[0] = p.tooling()
	case "functions": // what tools were called before
		p.tools[1] = p.tooling()
	case "response_format":
		p.form = formNeed(p.kind())
	case "modalities":
		p.sound = p.spoken()
	case "stream_options":
		p.options = p.span()
	case "max_tokens":
		p.limits[0] = p.span()
	case "max_completion_tokens":
		p.limits[1] = p.span()
	default:
		p.skip()
	}
}

// spoken is what an answer needs that is wanted as sound.
func (p *survey) spoken() (needs need) {
	for range p.elements {
		if string(p.word()) == "audio" {
			needs = needAudio
		}
	}
	return needs
}

// demandUsage asks for the usage of a stream, and learns whether the caller did.
func (p *survey) demandUsage() {
	s := scanner{b: p.b[:p.options.to], i: p.options.from}
	var asked span
	empty := true
	for name := range s.members {
		at := s.span()
		if empty = false; string(name) == "include_usage" {
			asked = at
		}
	}
	p.q.Usage = string(p.of(asked)) == "true"
	if !p.q.Stream || p.q.Usage {
		return
	}
	change := edit{from: asked.from, to: asked.to, text: "true"}
	switch {
	case p.options == (span{}):
		change = edit{from: p.brace, to: p.brace, text: `,"stream_options":{"include_usage":true}`}
	case null(p.of(p.options)):
		change = edit{from: p.options.from, to: p.options.to, text: `{"include_usage":true}`}
	case asked == (span{}):
		change = added(p.options.to-1, empty, `"include_usage":true`)
	}
	change.usage = true
	p.q.edits = append(p.q.edits, change)
}

// chat reads a member of a chat completion, or of a chunk of one.
func (a *saying) chat(name []byte) {
	switch string(name) {
	case "id":
		a.answerID = a.skip()
	case "object":
		a.flat()
	case "choices":
		a.whole = a.next() == '['
		for range a.elements {
			a.choices++
			a.choice()
		}
	case "x_groq":
		a.groq()
	default:
		a.skip()
	}
}

func (a *saying) choice() {
	for name := range a.members {
		switch string(name) {
		case "delta", "message":
			a.delta()
		case "finish_reason":
			a.finished(a.word())
		default:
			a.skip()
		}
	}
}

// delta notices what the model says itself. A role alone says nothing.
func (a *saying) delta() {
	for name := range a.members {
		switch string(name) {
		case "content", "reasoning_content", "reasoning", "thinking", "refusal", "audio":
			a.say()
		case "tool_calls", "function_call":
			a.tool = a.say() || a.tool
		default:
			a.skip()
		}
	}
}

// finished reads a finish reason.
func (a *saying) finished(reason []byte) {
	switch string(reason) {
	case "":
	case "stop", "eos": // the latter: Together
		a.ended(Stopped)
	case "length":
		a.ended(Truncated)
	case "tool_calls", "function_call":
		a.ended(CalledTool)
	case "content_filter":
		a.ended(Blocked)
	case "model_length": // Mistral
		a.ended(Overflowed)
	case "error", "abort", "insufficient_system_resource": // Mistral, vLLM, DeepSeek
		a.fault = broke
	default:
		a.ended(Other)
	}
}

// groq reads what Groq adds to its last chunk.
func (a *saying) groq() {
	for name := range a.members {
		switch string(name) {
		case "usage":
			a.tokens(&a.usage)
		case "error":
			if raw := a.skip(); filled(raw) {
				a.fault = wrapped(raw)
			}
		default:
			a.skip()
		}
	}
}
