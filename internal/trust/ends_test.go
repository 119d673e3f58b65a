package trust

import (
	"fmt"
	"testing"
)

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
