package service

import (
	"testing"

	"hostlab/internal/testkit"
)

// TestThrottles reads limits on devices as both versions of control groups write them.
func TestThrottles(t *testing.T) {
	files := map[string]string{"blkio.throttle.read_iops_device": "254:0 200\n",
		"blkio.throttle.io_serviced_recursive": "254:0 Read 4100\n254:0 Write 7\nTotal 4107\n",
		"io.max":                               "254:0 rbps=max wbps=1048576 riops=max wiops=max\n",
		"io.stat":                              "254:0 rbytes=1 wbytes=9000 rios=2 wios=3 dbytes=0 dios=0\n8:0 rbytes=5\n"}
	read := func(name string) string { return files[name] }
	testkit.Same(t, []Throttle{{File: "blkio.throttle.read_iops_device", Device: "254:0", Limit: 200, Done: 4100,
		Lift: "254:0 0"}}, throttles(true, read), "version 1")
	testkit.Same(t, []Throttle{{File: "io.max", Device: "254:0", Write: true, Bytes: true, Limit: 1 << 20, Done: 9000,
		Lift: "254:0 wbps=max"}}, throttles(false, read), "version 2")
	testkit.Is(t, 0, len(throttles(true, func(string) string { return "" })), "none")
}
