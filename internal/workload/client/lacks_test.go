package client

import (
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
	"hostlab/internal/workload"
)

func TestLacks(t *testing.T) {
	const oneNode = "-- sys/devices/system/node/node0/cpulist --\n0-1\n"
	pool := func(total, free, reserved string) string {
		return "-- proc/meminfo --\nHugePages_Total:   " + total + "\nHugePages_Free:   " + free + "\nHugePages_Rsvd:   " +
			reserved +
			"\nHugepagesize:       2048 kB\n"
	}
	for _, c := range []struct {
		engine, name, value, machine, says string
	}{
		{inMariaDB, "innodb_numa_interleave", "ON", oneNode, "this host has one memory node"},
		{inMariaDB, "innodb_numa_interleave", "OFF", oneNode, ""},
		{inMariaDB, "innodb_numa_interleave", "ON", oneNode + "-- sys/devices/system/node/node1/cpulist --\n2-3\n", ""},
		{inMariaDB, "innodb_numa_interleave", "ON", "-- proc/x --\n", ""}, // nodes are hidden
		{inPostgres, "huge_pages", "on", pool("0", "0", "0"),
			"its cache of 1 GiB takes huge pages, with a quarter more for the rest of its shared memory, " +
				"and 0 of 2 MiB are free; reserve them: sudo sysctl vm.nr_hugepages=640 (now 0; note it to put it back)"},
		{inPostgres, "huge_pages", "on", pool("600", "550", "100"),
			"and 450 of 2 MiB are free; reserve them: sudo sysctl vm.nr_hugepages=790 (now 600; note it to put it back)"},
		// for the cache alone
		{inPostgres, "huge_pages", "on", pool("600", "600", "0"), "and 600 of 2 MiB are free; reserve them"},
		{inPostgres, "huge_pages", "on", pool("640", "640", "0"), ""},
		{inPostgres, "huge_pages", "off", pool("0", "0", "0"), ""},
		{inPostgres, "huge_pages", "on", oneNode, ""}, // pages are hidden
	} {
		p := &CopyParams{Params: usual()}
		p.Engine, p.Server = c.engine, map[string]workload.Word{c.name: workload.Word(c.value), "shared_buffers": "1GB"}
		got := Copy{}.Lacks(p, host.Tree{Root: testkit.Unpack(t, host.ExtractArchive, c.machine)})
		if c.says == "" {
			testkit.Is(t, "", got, c.name, c.value, c.machine)
			continue
		}
		testkit.Has(t, got, c.says)
	}
	for text, want := range map[string]int64{"1gb": 1 << 30, "16384": 128 << 20, "128mb": 128 << 20, "64kb": 64 << 10,
		"x": 0, "1gbb": 0, "": 0, "2000000000tb": 0} {
		got, ok := sizeOf(text)
		testkit.Is(t, want > 0, ok, text)
		if ok {
			testkit.Is(t, want, got, text)
		}
	}
}
