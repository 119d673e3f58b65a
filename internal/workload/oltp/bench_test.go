package oltp

import (
	"testing"
)

// BenchmarkTransactions has the transactions a second of one worker and of two.
func BenchmarkTransactions(b *testing.B) {
	for name, workers := range map[string]int{"1": 1, "2": 2} {
		b.Run(name, func(b *testing.B) {
			s := server{}
			a, err := s.answer(question{Dir: b.TempDir(), Rows: 20000, Count: 100000, Reads: 0.9, Seed: 1, Workers: workers, Sync: "off"})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(len(a.Reads)+len(a.Writes))/a.Wall, "tx/s")
			b.ReportMetric(a.CPU/a.Wall, "CPUs")
		})
	}
}
