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
	testkit.OK(b, testkit.Made512(dir))
	s := testkit.Must(watch.Open(watch.Config{Tree: host.Tree{Root: dir}}))(b)
	defer s.Close()
	v := View{Width: 80, Height: 24, Color: true, Interval: time.Second, Info: s.Info()}
	now := time.Now()
	last := testkit.Must(s.Read(now))(b)
	for b.Loop() {
		now = now.Add(time.Second)
		r := testkit.Must(s.Read(now))(b)
		sample := watch.Between(s.Info(), last, r)
		last, v.Sample = r, &sample
		if len(v.Render()) < 80*8 {
			b.Fatal("nothing was shown")
		}
	}
}
