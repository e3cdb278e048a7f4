package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

const (
	maxContent = 32 << 20  // bytes, before compression
	chunkSize  = 512 << 10 // bytes; etcd takes 1.5 MiB a request
)

// packed is a content as it is kept: compressed, cut, and under an id of its own.
type packed struct {
	id     string
	chunks [][]byte
	size   int // before compression
	digest []byte
}

func pack(c *pb.StoredContent, now time.Time) (*packed, error) {
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode a catalog: %w", err)
	}
	if len(raw) > maxContent {
		return nil, &SizeError{Size: len(raw), Limit: maxContent}
	}
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("compress a catalog: %w", err)
	}
	digest := sha256.Sum256(raw)
	return &packed{id: chunksID(now), chunks: cut(w.EncodeAll(raw, nil)), size: len(raw), digest: digest[:]}, nil
}

func cut(b []byte) [][]byte {
	var chunks [][]byte
	for len(b) > chunkSize {
		chunks, b = append(chunks, b[:chunkSize]), b[chunkSize:]
	}
	return append(chunks, b)
}

// unpack gives a content back, and refuses one that is not what was packed.
func unpack(b []byte, r *pb.StoredRevision) (*pb.StoredContent, error) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxContent))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	raw, err := d.DecodeAll(b, nil)
	if err != nil {
		return nil, err
	}
	if digest := sha256.Sum256(raw); !bytes.Equal(digest[:], r.GetContentDigest()) {
		return nil, fmt.Errorf("digest is %x, stored as %x", digest[:4], r.GetContentDigest())
	}
	c := &pb.StoredContent{}
	return c, proto.Unmarshal(raw, c)
}

// chunksID begins with the time, by which the sweep knows how old it is.
func chunksID(now time.Time) string {
	var b [8]byte
	rand.Read(b[:])
	return fmt.Sprintf("%010x-%s", now.Unix(), hex.EncodeToString(b[:]))
}

func chunksTime(id string) (time.Time, error) {
	seconds, _, _ := strings.Cut(id, "-")
	n, err := strconv.ParseInt(seconds, 16, 64)
	return time.Unix(n, 0), err
}

func (s *Store) writeChunks(ctx context.Context, k keys, p *packed) error {
	for i, c := range p.chunks {
		if _, err := s.do(ctx, clientv3.OpPut(k.chunk(p.id, i), string(c))); err != nil {
			return classify("write a catalog", err)
		}
	}
	return nil
}

func (s *Store) readContent(ctx context.Context, k keys, r *pb.StoredRevision) (*pb.StoredContent, error) {
	var b []byte
	for i := range int(r.GetChunks()) {
		got, err := s.do(ctx, clientv3.OpGet(k.chunk(r.GetChunksId(), i)))
		if err != nil {
			return nil, classify("read a catalog", err)
		}
		if got.Get().Count == 0 {
			return nil, fmt.Errorf("revision %d: chunk %d of %d is missing", r.GetInfo().GetRevision(), i, r.GetChunks())
		}
		b = append(b, got.Get().Kvs[0].Value...)
	}
	c, err := unpack(b, r)
	if err != nil {
		return nil, fmt.Errorf("revision %d: content: %w", r.GetInfo().GetRevision(), err)
	}
	return c, nil
}
