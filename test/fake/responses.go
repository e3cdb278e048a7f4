package fake

import "time"

type object = map[string]any

var responses = format{
	whole: func(a *answer) any { return a.response(true) },
	begin: func(a *answer) []event {
		return []event{
			a.step("response.created", object{"response": a.response(false)}),
			a.step("response.in_progress", object{"response": a.response(false)}),
			a.step("response.output_item.added", object{"output_index": 0, "item": a.item("in_progress", []any{})}),
			a.step("response.content_part.added", a.at(object{"part": outputText("")})),
		}
	},
	piece: func(a *answer, text string) event {
		return a.step("response.output_text.delta", a.at(object{"delta": text, "logprobs": []any{}}))
	},
	end: func(a *answer) []event {
		part := outputText(text(0, a.output))
		last := "response." + a.status()
		return []event{
			a.step("response.output_text.done", a.at(object{"text": part["text"], "logprobs": []any{}})),
			a.step("response.content_part.done", a.at(object{"part": part})),
			a.step("response.output_item.done", object{"output_index": 0, "item": a.item(a.status(), []any{part})}),
			a.step(last, object{"response": a.response(true)}),
		}
	},
}

// step is the next event of a stream; each has its number.
func (a *answer) step(name string, data object) event {
	data["type"], data["sequence_number"] = name, a.steps
	a.steps++
	return event{name, data}
}

func (a *answer) at(data object) object {
	data["item_id"], data["output_index"], data["content_index"] = "msg_"+a.id, 0, 0
	return data
}

func outputText(text string) object {
	return object{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
}

func (a *answer) item(status string, content []any) object {
	return object{"id": "msg_" + a.id, "type": "message", "role": "assistant", "status": status, "content": content}
}

func (a *answer) status() string {
	if a.ending == stopped {
		return "completed"
	}
	return "incomplete"
}

// response is the whole answer, or what is known of it before anything is.
func (a *answer) response(done bool) object {
	r := object{
		"id": "resp_" + a.id, "object": "response", "created_at": time.Now().Unix(), "status": "in_progress", "model": a.request.Model,
		"output": []any{}, "usage": nil, "error": nil, "incomplete_details": nil,
	}
	if !done {
		return r
	}
	r["status"] = a.status()
	r["output"] = []any{a.item(a.status(), []any{outputText(text(0, a.output))})}
	if why := [...]string{limited: "max_output_tokens", filtered: "content_filter"}[a.ending]; why != "" {
		r["incomplete_details"] = object{"reason": why}
	}
	if input := a.request.input(); !a.endpoint.config.NoUsage {
		r["usage"] = object{
			"input_tokens": input, "input_tokens_details": object{"cached_tokens": 0},
			"output_tokens": a.output, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": input + a.output,
		}
	}
	return r
}
