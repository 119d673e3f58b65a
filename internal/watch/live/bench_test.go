package live

import (
	"testing"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
	"hostlab/internal/watch"
)

// BenchmarkSample takes and shows a sample of 512 CPUs, without what the terminal costs.
func BenchmarkSample(b *testing.B) {
	dir := b.TempDir()
	if err := testkit.Made512(dir); err != nil {
		b.Fatal(err)
	}
	s, err := watch.Open(watch.Config{Tree: host.Tree{Root: dir}})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	v := View{Width: 80, Height: 24, Color: true, Interval: time.Second, Info: s.Info()}
	now := time.Now()
	last, err := s.Read(now)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		now = now.Add(time.Second)
		r, err := s.Read(now)
		if err != nil {
			b.Fatal(err)
		}
		sample := watch.Between(s.Info(), last, r)
		last, v.Sample = r, &sample
		if len(v.Render()) < 80*8 {
			b.Fatal("nothing was shown")
		}
	}
}
