package fleet

import (
	"errors"
	"sync"

	"github.com/klauspost/compress/zstd"
)

type packer struct {
	*zstd.Encoder
	*zstd.Decoder
}

// packers work for any number of callers at a time.
var packers = sync.OnceValue(func() packer {
	e, err := zstd.NewWriter(nil, zstd.WithWindowSize(1<<20))
	d, err2 := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(MaxBody), zstd.WithDecoderConcurrency(0))
	if err := errors.Join(err, err2); err != nil {
		panic(err) // its options are wrong
	}
	return packer{e, d}
})

// Pack is a body as stores keep it: zstd.
func Pack(body []byte) []byte { return packers().EncodeAll(body, nil) }

// Unpack is the body of what a store keeps.
func Unpack(kept []byte) ([]byte, error) { return packers().DecodeAll(kept, nil) }
