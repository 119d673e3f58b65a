package fleet

import (
	"bytes"
	_ "embed"
	"errors"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"hostlab/internal/bounded"
)

// typical has three documents of made hosts, packed. Documents say the same of most things, so that one packed against
// these takes a twentieth to a quarter of what it takes alone. It must never change: what stores keep is packed against it.
//
//go:embed dictionary.zst
var typical []byte

// dictionary is the number of typical, which each packed body names.
const dictionary = 1<<31 - 1

type packer struct {
	*zstd.Encoder
	*zstd.Decoder
}

// packers work for any number of callers at a time.
var packers = sync.OnceValue(func() packer {
	plain, err := zstd.NewReader(nil)
	if err != nil {
		panic(err) // its options are wrong, as below
	}
	defer plain.Close()
	text, err := plain.DecodeAll(typical, nil)
	if err != nil {
		panic(err)
	}
	e, err := zstd.NewWriter(nil, zstd.WithEncoderDictRaw(dictionary, text), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(1<<20))
	d, err2 := zstd.NewReader(nil, zstd.WithDecoderDictRaw(dictionary, text), zstd.WithDecoderMaxMemory(MaxBody),
		zstd.WithDecoderConcurrency(0))
	if err := errors.Join(err, err2); err != nil {
		panic(err)
	}
	return packer{e, d}
})

// Pack is a body as stores keep it: zstd, with a dictionary of what documents say.
func Pack(body []byte) []byte { return packers().EncodeAll(body, nil) }

// Unpack is the body of what a store keeps. Stores of schema 3 and before have it by gzip.
func Unpack(kept []byte) ([]byte, error) {
	if !bytes.HasPrefix(kept, []byte{0x1f, 0x8b}) {
		return packers().DecodeAll(kept, nil)
	}
	z, err := gzip.NewReader(bytes.NewReader(kept))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if _, err := out.ReadFrom(bounded.Reader(z, MaxBody)); err != nil {
		return nil, err
	}
	return out.Bytes(), z.Close()
}
