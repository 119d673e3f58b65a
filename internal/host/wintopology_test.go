package host

import (
	"encoding/binary"
	"errors"
	"testing"

	"hostlab/internal/testkit"
)

// winRelation makes a SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX with one group mask.
func winRelation(rel uint32, masks int, groups, group uint16, mask uint64, set func([]byte)) []byte {
	b := make([]byte, masks+groupMask)
	binary.LittleEndian.PutUint32(b, rel)
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)))
	binary.LittleEndian.PutUint16(b[masks-2:], groups)
	binary.LittleEndian.PutUint64(b[masks:], mask)
	binary.LittleEndian.PutUint16(b[masks+8:], group)
	if set != nil {
		set(b)
	}
	return b
}

func TestWindowsTopology(t *testing.T) {
	smt := func(class byte) func([]byte) { return func(b []byte) { b[8], b[9] = 1, class } }
	var buf []byte
	for _, r := range [][]byte{
		winRelation(relCore, 32, 1, 0, 0b0011, smt(1)), winRelation(relCore, 32, 1, 0, 0b1100, smt(1)),
		winRelation(relCore, 32, 1, 1, 0b1, func(b []byte) { b[9] = 0 }),
		winRelation(relPackage, 32, 1, 0, 0b1111, nil), winRelation(relPackage, 32, 1, 1, 0b1, nil),
		winRelation(relNUMA, 32, 0, 0, 0b1111, nil), // Wine: a count of 0 groups
		winRelation(relNUMA, 32, 0, 1, 0b1, func(b []byte) { b[8] = 1 }),
		winRelation(4, 32, 0, 0, 0, nil), // group information: not ours
		winRelation(relCache, 40, 0, 0, 0b0011, func(b []byte) {
			b[8], b[9] = 1, 12
			binary.LittleEndian.PutUint16(b[10:], 64)
			binary.LittleEndian.PutUint32(b[12:], 48<<10)
			b[16] = 2
		}),
	} {
		buf = append(buf, r...)
	}
	top := windowsTopology(buf, nil)
	got := []any{top.Sockets.Value, top.Cores.Value, FormatList(top.Online.Value), top.SMTActive.Value, len(top.NUMA),
		top.CPUs[4].ID, top.CPUs[4].Socket.Value, top.CPUs[4].NUMANode.Value, top.CPUs[4].CoreType, FormatList(top.CPUs[3].Siblings.Value),
		top.Caches[0].Type, top.Caches[0].Size.Value, FormatList(top.Caches[0].CPUs)}
	want := []any{2, 3, "0-3,64", true, 2, 64, 1, 1, "efficiency", "2-3", "Data", int64(48 << 10), "0-1"}
	testkit.Same(t, want, got)
	for n := range buf { // cut anywhere, it is an error or a shorter list, but no panic
		windowsTopology(buf[:n], nil)
	}
	if top := windowsTopology(nil, errors.New("failed")); top.Online.State != StateError || top.Sockets.State != StateError {
		t.Errorf("a failed call gives %+v", top)
	}
}

func FuzzWindowsTopology(f *testing.F) {
	f.Add(winRelation(relCore, 32, 1, 0, 3, nil))
	f.Add(winRelation(relCache, 40, 0, 0, 3, nil))
	f.Add(winRelation(relCore, 32, 65535, 65535, 3, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		top := windowsTopology(b, nil)
		if top.Threads.State == StateOK && top.Threads.Value != len(top.CPUs) {
			t.Fatalf("%d threads, %d CPUs", top.Threads.Value, len(top.CPUs))
		}
	})
}
