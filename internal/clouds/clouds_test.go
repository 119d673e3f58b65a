package clouds

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// written is a page with numbers in the fields that follow the magic one, and one bin in each histogram.
func written(magic uint32, fields ...uint64) []byte {
	b := make([]byte, pageSize)
	binary.LittleEndian.PutUint32(b, magic)
	for i, v := range fields {
		binary.LittleEndian.PutUint64(b[8+8*i:], v)
	}
	for i, at := range []int{512, 512 + 1544} { // 416 bytes are kept free before the first, which has 64 bins of 24 bytes
		binary.LittleEndian.PutUint64(b[at:], 2)
		for bin, v := range []uint64{0, 256, uint64(90 + i), 256, 4096, uint64(10 + i)} {
			binary.LittleEndian.PutUint64(b[at+8+8*bin:], v)
		}
	}
	return b
}

// fields are the numbers of a volume: requests, bytes, time; then what was beyond limits, and the queue.
var fields = []uint64{1000, 500, 1 << 20, 1 << 19, 5_000_000, 2_500_000, 12_000_000, 3_000_000, 2_000_000, 1_000_000, 7}

func TestParse(t *testing.T) {
	bins := func(n uint32) []Bin { return []Bin{{0, 256e-6, 90 + n}, {256e-6, 4096e-6, 10 + n}} }
	want := Volume{VolumeIOPS: 12, VolumeThroughput: 3, InstanceIOPS: 2, InstanceThroughput: 1, Queue: 7, Reads: bins(0),
		Writes: bins(1)}
	if got, err := Parse(written(ofVolume, fields...)); err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v: %s", err, cmp.Diff(want, got))
	}
	want.Local, want.VolumeIOPS, want.VolumeThroughput = true, 0, 0 // it has no volume's limit
	if got, err := Parse(written(ofInstance, fields...)); err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v: %s", err, cmp.Diff(want, got))
	}
	for _, b := range [][]byte{nil, make([]byte, 4096), written(0x12345678, fields...),
		written(ofVolume, fields...)[:1000]} {
		if v, err := Parse(b); err == nil {
			t.Errorf("%d bytes: %+v", len(b), v)
		}
	}
	many := written(ofVolume, fields...)
	binary.LittleEndian.PutUint64(many[512:], 1<<60)
	if v, err := Parse(many); err != nil || len(v.Reads) != mostBins {
		t.Errorf("with too many bins: %d, %v", len(v.Reads), err)
	}
}

func TestSince(t *testing.T) {
	before, _ := Parse(written(ofVolume, fields...))
	later := append([]uint64{}, fields...)
	later[6] += 30_000_000
	after, _ := Parse(written(ofVolume, later...))
	after.Writes[1].Count += 100
	d, ok := after.Since(before)
	if !ok || d.VolumeIOPS != 30 || d.VolumeThroughput != 0 || d.Queue != 7 {
		t.Errorf("%+v, %v", d, ok)
	}
	if s, ok := Within(d.Writes, 0.99); !ok || s != 4096e-6 {
		t.Errorf("99 %% of writes within %g s, %v", s, ok)
	}
	if s, ok := Within(d.Reads, 0.99); ok {
		t.Errorf("no reads took %g s", s)
	}
	after.Reads[0].Count, after.Reads[1].Count = 4, before.Reads[1].Count // past 32 bits
	before.Reads[0].Count = 1<<32 - 6
	if d, _ := after.Since(before); len(d.Reads) != 2 || d.Reads[0].Count != 10 || d.Reads[1].Count != 0 {
		t.Errorf("counts that begin again: %+v", d.Reads)
	}
	after.Reads[0].High, after.Reads[1].Low = 128e-6, 128e-6
	after.Writes = after.Writes[:1]
	if d, ok := after.Since(before); !ok || d.Reads != nil || d.Writes != nil {
		t.Errorf("other bins: %+v, %+v", d.Reads, d.Writes)
	}
	if _, ok := before.Since(after); ok {
		t.Error("the counters fell, so the difference means nothing")
	}
}

func TestAllowances(t *testing.T) {
	names := []string{"tx_timeout", "bw_in_allowance_exceeded", "bw_out_allowance_exceeded", "pps_allowance_exceeded",
		"conntrack_allowance_exceeded", "linklocal_allowance_exceeded", "conntrack_allowance_available", "queue_0_tx_cnt"}
	got, err := allowances(names, []uint64{0, 0, 12, 946, 0, 0, 128270, 5170})
	want := map[string]uint64{"bw_in": 0, "bw_out": 12, "pps": 946, "conntrack": 0, "linklocal": 0}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v: %s", err, cmp.Diff(want, got))
	}
	if got, err := allowances([]string{"rx_packets"}, []uint64{1}); err == nil {
		t.Errorf("another driver: %v", got)
	}
	if got, err := ReadNetwork("lo"); err == nil {
		t.Errorf("the loopback interface: %v", got)
	}
}

// TestNone: what a driver or a disk does not count is none, and a device that cannot be asked is another thing.
func TestNone(t *testing.T) {
	_, err := allowances([]string{"rx_packets"}, []uint64{1})
	for _, err := range []error{err, refused(0x4109), refused(0x109)} {
		if !errors.Is(err, syscall.EOPNOTSUPP) {
			t.Error(err)
		}
	}
	_, err = ReadVolume("nvme99n1")
	for _, err := range []error{err, refused(0x4002), refused(0x6)} {
		if err == nil || errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
}
