package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

// light is one gRPC stream on a connection of its own, with as little around it as HTTP/2
// allows: thousands must fit beside the server on a small machine, without being what is measured.
type light struct {
	conn   net.Conn
	out    *bufio.Writer
	frames *http2.Framer
	body   bytes.Buffer // of the message that is coming
	owed   int          // bytes of flow control that were not given back
	read   int          // bytes of data, all in all
}

const (
	syncMethod = "/pointsman.v1.SyncService/Sync"
	window     = 64 << 20 // a catalog is not held up
	giveBack   = 1 << 20
)

// open dials and begins a stream.
func open(address string, secure *tls.Config) (*light, error) {
	conn, err := (&net.Dialer{Timeout: 10 * time.Second}).Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	if secure != nil {
		conn = tls.Client(conn, secure)
	}
	l := &light{conn: conn, out: bufio.NewWriterSize(conn, 512)}
	l.frames = http2.NewFramer(l.out, bufio.NewReaderSize(conn, 2<<10))
	l.frames.SetMaxReadFrameSize(1 << 20)
	l.frames.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	l.frames.SetReuseFrames()
	if err := l.begin(address); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return l, nil
}

func (l *light) begin(address string) error {
	if _, err := io.WriteString(l.out, http2.ClientPreface); err != nil {
		return err
	}
	var head bytes.Buffer
	enc := hpack.NewEncoder(&head)
	for _, f := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", syncMethod}, {":authority", address},
		{"content-type", "application/grpc"}, {"te", "trailers"},
	} {
		if err := enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
			return err
		}
	}
	return errors.Join(
		l.frames.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window}),
		l.frames.WriteWindowUpdate(0, window),
		l.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: head.Bytes(), EndHeaders: true}),
	)
}

// send sends a message.
func (l *light) send(m *pb.SyncRequest) error {
	b, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	framed := make([]byte, 5, 5+len(b))
	binary.BigEndian.PutUint32(framed[1:], uint32(len(b)))
	if err := l.frames.WriteData(1, false, append(framed, b...)); err != nil {
		return err
	}
	return l.out.Flush()
}

// receive gives the next message; its error is the stream's end.
func (l *light) receive() (*pb.SyncResponse, error) {
	for {
		if b := l.body.Bytes(); len(b) >= 5 && len(b) >= 5+int(binary.BigEndian.Uint32(b[1:5])) {
			return l.message()
		}
		f, err := l.frames.ReadFrame()
		if err != nil {
			return nil, err
		}
		if err := l.take(f); err != nil {
			return nil, err
		}
	}
}

// message takes the one that is complete.
func (l *light) message() (*pb.SyncResponse, error) {
	head := l.body.Next(5)
	m := &pb.SyncResponse{}
	err := proto.Unmarshal(l.body.Next(int(binary.BigEndian.Uint32(head[1:]))), m)
	if l.body.Len() == 0 && l.body.Cap() > 4<<10 {
		l.body = bytes.Buffer{}
	}
	return m, err
}

func (l *light) take(f http2.Frame) error {
	switch f := f.(type) {
	case *http2.DataFrame:
		l.body.Write(f.Data())
		l.read += len(f.Data())
		if l.owed += len(f.Data()); l.owed < giveBack {
			return nil
		}
		err := errors.Join(l.frames.WriteWindowUpdate(0, uint32(l.owed)), l.frames.WriteWindowUpdate(1, uint32(l.owed)))
		l.owed = 0
		return errors.Join(err, l.out.Flush())
	case *http2.SettingsFrame:
		if f.IsAck() {
			return nil
		}
		return errors.Join(l.frames.WriteSettingsAck(), l.out.Flush())
	case *http2.PingFrame:
		if f.IsAck() {
			return nil
		}
		return errors.Join(l.frames.WritePing(true, f.Data), l.out.Flush())
	case *http2.MetaHeadersFrame:
		return l.headers(f)
	case *http2.GoAwayFrame:
		return nil // the stream goes on until it ends
	case *http2.RSTStreamFrame:
		return fmt.Errorf("the stream was reset: %v", f.ErrCode)
	}
	return nil
}

// headers ends the stream when they are the trailers.
func (l *light) headers(f *http2.MetaHeadersFrame) error {
	if !f.StreamEnded() {
		return nil
	}
	s := &spb.Status{}
	for _, h := range f.RegularFields() {
		switch h.Name {
		case "grpc-status":
			code, _ := strconv.Atoi(h.Value)
			s.Code = int32(code)
		case "grpc-message":
			s.Message = h.Value
		case "grpc-status-details-bin":
			if b, err := base64.RawStdEncoding.DecodeString(h.Value); err == nil {
				_ = proto.Unmarshal(b, s) // without details it is as good
			}
		}
	}
	if s.Code == int32(codes.OK) {
		return io.EOF
	}
	return status.ErrorProto(s)
}

// asked is the delay that a refusal carries.
func asked(err error) time.Duration {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok {
			return info.GetRetryDelay().AsDuration()
		}
	}
	return 0
}

func (l *light) close() { _ = l.conn.Close() }
