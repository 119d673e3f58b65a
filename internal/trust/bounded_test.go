package trust

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"hostlab/internal/testkit"
)

func TestReader(t *testing.T) {
	for _, c := range []struct {
		size  int
		limit int64
		fits  bool
	}{{0, 0, true}, {1, 0, false}, {7, 7, true}, {8, 7, false}, {5000, 4999, false}, {5000, 5000, true}} {
		text := strings.Repeat("x", c.size)
		for _, in := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text)),
			iotest.DataErrReader(strings.NewReader(text))} {
			got, err := io.ReadAll(Reader(in, c.limit))
			var large *TooLarge
			if int64(len(got)) != min(int64(c.size), c.limit) || c.fits && err != nil || !c.fits && !errors.As(err, &large) {
				t.Errorf("%+v: %d bytes, %v", c, len(got), err)
			}
		}
	}
}

func TestReadFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	want := bytes.Repeat([]byte("line\n"), 1000)
	testkit.OK(t, os.WriteFile(name, want, 0o600))
	if got, err := ReadFile(name, 5000); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	testkit.Refused(ReadFile(name, 4999))(t, "larger than 4 KiB", "a file that is too large")
	if got, err := ReadFile("/proc/self/status", 1<<20); runtime.GOOS == "linux" &&
		(err != nil || len(got) == 0) { // which tells no size
		t.Errorf("%d bytes, %v", len(got), err)
	}
	testkit.OK(t, os.Truncate(name, 1<<40))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := ReadFile(name, 16<<20)
	runtime.ReadMemStats(&after)
	var large *TooLarge
	if !errors.As(err, &large) || after.TotalAlloc-before.TotalAlloc > 1<<20 {
		t.Errorf("1 TiB without a block: %v, %d bytes taken", err, after.TotalAlloc-before.TotalAlloc)
	}
}

// Whatever is written in whatever pieces, the first and the last bytes are kept.
func TestEnds(t *testing.T) {
	for total := range 200 {
		for _, piece := range []int{1, 3, 7, 10, 23, 64} {
			c := &Ends{Keep: 10}
			var all []byte
			for i := range total {
				all = append(all, byte(i))
			}
			for rest := all; len(rest) > 0; {
				n := min(piece, len(rest))
				if k, err := c.Write(rest[:n]); k != n || err != nil {
					t.Fatal(k, err)
				}
				rest = rest[n:]
			}
			got := c.Kept()
			want := [][]byte{all}
			if total > 20 {
				want = [][]byte{all[:10], all[total-10:]}
			}
			if fmt.Sprint(got.Parts) != fmt.Sprint(want) || got.Total != int64(total) {
				t.Fatalf("%d bytes in pieces of %d: kept %v", total, piece, got)
			}
		}
	}
}
