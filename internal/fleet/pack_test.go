package fleet

import (
	"bytes"
	"crypto/rand"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func TestPack(t *testing.T) {
	noise := make([]byte, 100_000)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string][]byte{"empty": {}, "short": []byte("{}"), "noise": noise, "largest": bytes.Repeat([]byte{'x'}, MaxBody)} {
		if got, err := Unpack(Pack(body)); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%s: %d bytes came back of %d: %v", name, len(got), len(body), err)
		}
	}
	var old bytes.Buffer
	z := gzip.NewWriter(&old)
	_, _ = z.Write([]byte("as earlier stores kept it"))
	_ = z.Close()
	if got, err := Unpack(old.Bytes()); err != nil || string(got) != "as earlier stores kept it" {
		t.Errorf("gzip: %q, %v", got, err)
	}
	for name, kept := range map[string][]byte{"nothing": nil, "cut": Pack(noise)[:50_000], "cut gzip": old.Bytes()[:20], "text": []byte("{}")} {
		if got, err := Unpack(kept); err == nil && len(kept) > 0 {
			t.Errorf("%s: unpacked to %d bytes", name, len(got))
		}
	}
	plain, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Unpack(plain.EncodeAll(bytes.Repeat([]byte{0}, MaxBody+1), nil)); err == nil {
		t.Error("more than the largest body was unpacked")
	}
}

// What stores have kept is packed against the dictionary, so it must stay as it is.
func TestDictionary(t *testing.T) {
	if got := Hash(typical); got != "f884296c9b37b64e9c02e08de794bbc0dfe5e1a0b3e7bf2496c1b639831ee946" {
		t.Errorf("the dictionary has hash %s: older stores cannot be read with it", got)
	}
}
