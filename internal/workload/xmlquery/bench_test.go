package xmlquery

import (
	"bytes"
	"context"
	"encoding/xml"
	"testing"
)

// BenchmarkParsers shows why the workload has a scanner of its own: encoding/xml's
// garbage, and so the collector, would be a good part of what is timed.
func BenchmarkParsers(b *testing.B) {
	table := generate(b, 1<<20, 1)
	b.Run("scanner", func(b *testing.B) {
		b.SetBytes(int64(table.Bytes()))
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := Query(context.Background(), table, 1, 1); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-xml", func(b *testing.B) {
		b.SetBytes(int64(table.Bytes()))
		b.ReportAllocs()
		for b.Loop() {
			for i := range table.Rows() {
				d := xml.NewDecoder(bytes.NewReader(table.Row(i)))
				for {
					if _, err := d.RawToken(); err != nil {
						break
					}
				}
			}
		}
	})
}
