package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// serve is the endpoint: it tells its address and answers until its input ends.
func serve(in io.Reader, out io.Writer) error {
	runtime.GOMAXPROCS(16) // a nap holds its processor for a moment
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, l.Addr())
	s := &http.Server{Handler: handler(), ReadHeaderTimeout: time.Minute}
	go func() {
		_, _ = io.Copy(io.Discard, in) // whoever started it has gone
		_ = s.Close()                  // it ends with its process
	}()
	if err := s.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// handler answers chats below /{µs of delay}/{events of a stream}.
func handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{delay}/{events}/v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		delay, err := strconv.Atoi(r.PathValue("delay"))
		events, otherErr := strconv.Atoi(r.PathValue("events"))
		body, bodyErr := io.ReadAll(r.Body)
		if err != nil || otherErr != nil || bodyErr != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		nap(time.Duration(delay) * time.Microsecond)
		if !bytes.Contains(body, []byte(`"stream":true`)) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, wholeAnswer) // who has gone needs no answer
			return
		}
		stream(w, events)
	})
	return mux
}

// burst is how many events come at once, as they do under load.
const burst = 15

// stream writes the first event at once, and the others in bursts.
func stream(w http.ResponseWriter, events int) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, event)
	for left := events - 1; left > 0; left -= burst {
		w.(http.Flusher).Flush()
		_, _ = io.WriteString(w, strings.Repeat(event, min(left, burst)))
	}
	_, _ = io.WriteString(w, streamEnd)
}

const (
	head        = `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1767000000,"model":"m","system_fingerprint":"fp_1",`
	event       = `data: ` + head + `"choices":[{"index":0,"delta":{"content":" ferry"},"logprobs":null,"finish_reason":null}],"usage":null}` + "\n\n"
	usage       = `"usage":{"prompt_tokens":250,"completion_tokens":60,"total_tokens":310,"prompt_tokens_details":{"cached_tokens":0}}}`
	streamEnd   = `data: ` + head + `"choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"usage":null}` + "\n\ndata: " + head + `"choices":[],` + usage + "\n\ndata: [DONE]\n\n"
	wholeAnswer = `{"id":"chatcmpl-1","object":"chat.completion","created":1767000000,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"The ferry leaves at nine from pier four and comes back before dark.","refusal":null},"logprobs":null,"finish_reason":"stop"}],` + usage
)

// endpoint is the process that serves.
type endpoint struct {
	address string
	process *exec.Cmd
	input   io.Closer
}

func startEndpoint() (*endpoint, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	e := &endpoint{process: exec.Command(self, "-serve")}
	e.process.Stderr = os.Stderr
	if e.input, err = e.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := e.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := e.process.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		e.stop()
		return nil, fmt.Errorf("the endpoint said no address: %w", err)
	}
	e.address = strings.TrimSpace(line)
	return e, nil
}

func (e *endpoint) url(delay time.Duration, events int) string {
	return fmt.Sprintf("http://%s/%d/%d/v1", e.address, delay.Microseconds(), events)
}

// stop ends it by its input's end.
func (e *endpoint) stop() {
	e.input.Close()
	_ = e.process.Wait() // it ends as it ends
}
