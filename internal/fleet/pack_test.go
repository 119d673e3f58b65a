package fleet

import (
	"bytes"
	"crypto/rand"
	"testing"

	"github.com/klauspost/compress/zstd"

	"hostlab/internal/testkit"
)

func TestPack(t *testing.T) {
	noise := make([]byte, 100_000)
	testkit.Must(rand.Read(noise))(t)
	for name, body := range map[string][]byte{"empty": {}, "short": []byte("{}"), "noise": noise,
		"largest": bytes.Repeat([]byte{'x'}, MaxBody)} {
		if got, err := Unpack(Pack(body)); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%s: %d bytes came back of %d: %v", name, len(got), len(body), err)
		}
	}
	for name, kept := range map[string][]byte{"nothing": nil, "cut": Pack(noise)[:50_000], "text": []byte("{}")} {
		if got, err := Unpack(kept); err == nil && len(kept) > 0 {
			t.Errorf("%s: unpacked to %d bytes", name, len(got))
		}
	}
	plain := testkit.Must(zstd.NewWriter(nil))(t)
	if _, err := Unpack(plain.EncodeAll(bytes.Repeat([]byte{0}, MaxBody+1), nil)); err == nil {
		t.Error("more than the largest body was unpacked")
	}
}
