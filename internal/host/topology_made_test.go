//go:build system

package host_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

// TestMade512 reads a machine of 512 CPUs: 40,000 files.
func TestMade512(t *testing.T) {
	dir := t.TempDir()
	testkit.OK(t, testkit.Made512(dir))
	f := host.Collect(context.Background(), host.Options{Tree: host.Tree{Root: dir}})
	top := f.Topology
	got := []int{top.Sockets.Value, top.Cores.Value, top.Threads.Value, len(top.NUMA), len(top.CPUs), len(f.Frequency.Policies), len(f.Idle.States)}
	testkit.Same(t, []int{2, 256, 512, 8, 512, 512, 4}, got)
	count := map[int]int{}
	for _, c := range top.Caches {
		count[c.Level]++
	}
	if d := cmp.Diff(map[int]int{1: 512, 2: 256, 3: 32}, count); d != "" {
		t.Error("caches of each level (-want +got):\n" + d)
	}
	if got := top.NUMA[7].Memory; got.Value != 192<<30 {
		t.Errorf("memory of node 7: %s", stateText(got))
	}
	if got := top.CPUs[511]; got.NUMANode.Value != 7 || got.Socket.Value != 1 || host.FormatList(got.Siblings.Value) != "255,511" {
		t.Errorf("cpu511: %+v", got)
	}
	// Nothing that this machine has may be denied or garbled.
	walkFacts(f, func(path string, fact host.AnyFact) {
		if _, _, source, state, why := fact.Any(); state == host.StateError || state == host.StateDenied {
			t.Errorf("%s is %s: %s (%s)", path, state, why, source)
		}
	})
}
