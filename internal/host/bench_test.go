package host_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

// BenchmarkCollect512 reads the whole made server with 512 CPUs, some 25,000
// files; on tmpfs where there is one, so that no disk is measured.
func BenchmarkCollect512(b *testing.B) {
	dir := b.TempDir()
	if shm, err := os.MkdirTemp("/dev/shm", "hostlab-bench-"); err == nil {
		b.Cleanup(func() { os.RemoveAll(shm) })
		dir = shm
	}
	testkit.OK(b, testkit.Made512(dir))
	b.Run("collect", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f := host.Collect(context.Background(), host.Options{Tree: host.Tree{Root: dir}})
			if f.Topology.Threads.Value != 512 || len(f.Frequency.Policies) != 512 {
				b.Fatal("not the whole machine was read")
			}
		}
	})
	// What the reading alone costs: all files of the tree, one after the other.
	b.Run("readfile", func(b *testing.B) {
		for b.Loop() {
			testkit.OK(b, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
				if err == nil && e.Type().IsRegular() {
					_, err = os.ReadFile(path)
				}
				return err
			}))
		}
	})
}
