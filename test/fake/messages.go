package fake

var messages = format{
	tells: 1,
	whole: func(a *answer) any {
		m := a.message(a.output)
		m["content"], m["stop_reason"] = []any{textBlock(text(0, a.output))}, a.stopReason()
		return m
	},
	begin: func(a *answer) []event {
		return []event{
			typed("message_start", object{"message": a.message(1)}),
			typed("content_block_start", object{"index": 0, "content_block": textBlock("")}),
			typed("ping", object{}),
		}
	},
	piece: func(_ *answer, text string) event {
		return typed("content_block_delta", object{"index": 0, "delta": object{"type": "text_delta", "text": text}})
	},
	end: func(a *answer) []event {
		last := object{"delta": object{"stop_reason": a.stopReason(), "stop_sequence": nil}}
		if !a.endpoint.config.NoUsage {
			last["usage"] = object{"output_tokens": a.output} // all of them: it replaces what came before
		}
		return []event{typed("content_block_stop", object{"index": 0}), typed("message_delta", last), typed("message_stop", object{})}
	},
}

func typed(name string, data object) event {
	data["type"] = name
	return event{name, data}
}

func textBlock(text string) object { return object{"type": "text", "text": text} }

func (a *answer) stopReason() string {
	return [...]string{stopped: "end_turn", limited: "max_tokens", filtered: "refusal"}[a.ending]
}

// message is one without content yet.
func (a *answer) message(output int64) object {
	m := object{
		"id": "msg_" + a.id, "type": "message", "role": "assistant", "model": a.request.Model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil,
	}
	if !a.endpoint.config.NoUsage {
		m["usage"] = object{
			"input_tokens": a.request.input(), "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": output,
		}
	}
	return m
}
