package check

import (
	"fmt"
	"math"
	"strconv"

	"hostlab/internal/host"
	"hostlab/internal/setting"
)

// Limits of the kernel that few servers come near. Where a source names a number for a server, that one is
// held to it; all others are judged by what they use.

var (
	shmmniWants = []want{{Engine{Kind: "hana"}, 32768}, {Engine{Kind: "sap"}, 32768}, {Engine{Kind: "oracle"}, 4096}}
	aioWants    = []want{{Engine{Kind: "hana"}, math.MaxUint64}, {Engine{Kind: "oracle"}, 1048576}}
	mapsWants   = []want{{Engine{Kind: "hana"}, math.MaxInt32}, {Engine{Kind: "sap"}, math.MaxInt32},
		{Engine{Kind: "sqlserver"}, 262144},
		{Engine{Kind: "elasticsearch"}, 262144}, {Engine{Kind: "opensearch"}, 262144}}
)

// Shares of a limit in use from which on it is too low. They are hostlab's own.
const (
	mostUsed    = 0.8
	mostThreads = 0.5 // a burst of sessions doubles them
)

// mostPIDs is the most that a 64-bit kernel can have (PID_MAX_LIMIT).
const mostPIDs = 4194304

func lookPIDs(f *host.Facts, _ Role) view {
	limit, threads := f.Kernel.PIDMax, f.Kernel.Threads
	if sapOnOldSLES(f) {
		v := see(read(limit, atLeast[int64](mostPIDs)))
		v.bad = fmt.Sprintf("fewer than the %d that are recommended for SAP on this system", mostPIDs)
		return v
	}
	v := see(read(limit, func(n int64) bool { return float64(threads.Or(0)) <= mostThreads*float64(n) }).need(),
		needed(threads))
	v.bad = fmt.Sprintf("%d threads are more than half of them", threads.Or(0))
	return v
}

// sapOnOldSLES is what SAP's notes on pid_max speak of.
func sapOnOldSLES(f *host.Facts) bool {
	version, _, sles := slesOf(f)
	return sles && version < 16 && (runs(f, "hana") || runs(f, "sap"))
}

func lookAIO(f *host.Facts, _ Role) view {
	limit, used := f.Kernel.AIOMaxNr, f.Kernel.AIONr
	if least, by := wanted(f, aioWants); least > 0 {
		v := view{bad: fmt.Sprintf("fewer than the %d that are recommended for %s", least, by.Product())}
		v.add(by, read(limit, atLeast(min(least, math.MaxInt64))), aside(used)) // as good as none
		return v
	}
	v := see(read(limit, func(n uint64) bool {
		return n > math.MaxInt64 || float64(used.Or(0)) <= mostUsed*float64(n)
	}).need(), needed(used))
	v.bad = fmt.Sprintf("%d are reserved, more than %.0f %% of what the system has", used.Or(0), 100*mostUsed)
	return v
}

func adviseAIO(f *host.Facts, _ Role) []setting.Assignment {
	value, _ := wanted(f, aioWants)
	if now, known := f.Kernel.AIOMaxNr.Get(); value == 0 {
		if !known || now > math.MaxInt64 {
			return nil
		}
		value = max(1048576, 2*now)
	}
	return []setting.Assignment{{Name: "aio_max_nr", Value: strconv.FormatUint(value, 10)}}
}

func lookMaps(f *host.Facts, _ Role) view {
	limit := f.Memory.MaxMapCount
	least, by := wanted(f, mapsWants)
	what, weak := by.Product(), false // nobody is near the limit yet
	if n, of := mappingsOfConnections(f); n > least {
		weak = uint64(max(limit.Or(0), 0)) >= least
		what = fmt.Sprintf("%d connections of %s", n/mapsForConnection, of.Product())
		least, by = n, of
	}
	v := view{bad: fmt.Sprintf("fewer than the %d that are recommended for %s", least, what)}
	v.add(by, read(limit, func(n int64) bool { return n >= 0 && uint64(n) >= least }).need())
	for _, d := range servers(f) {
		if of(forAll(mapsWants), []host.Database{d}) != nil {
			continue
		}
		r := readAs(d.Maps, func(n int64) string { return fmt.Sprintf("%d of %d", n, limit.Value) },
			func(n int64) bool { return float64(n) <= mostUsed*float64(limit.Value) })
		if r.bad && !v.readings[0].bad {
			v.bad = fmt.Sprintf("%s has %d mappings, more than %.0f %% of the limit", nameOf(d), d.Maps.Value, 100*mostUsed)
		}
		if v.add(d, r); d.Kind == "mongodb" {
			const admits = "maxIncomingConnections"
			most := ofSetting(whole(d.Setting(admits)), admits)
			most.context = !most.unknown() // without it, nobody knows how many mappings connections may take
			v.readings = append(v.readings, aside(d.Limits.OpenFiles), most)
		}
	}
	v.readings[0].context = least == 0 // a number alone says nothing of a server that is judged by its use
	if weak && len(wrong(v.readings)) == 1 && v.readings[0].bad {
		return v.atMost(Low)
	}
	return v
}

// What a MongoDB of which nothing else is set takes (serverGlobalParams.maxConns, and 80 % of its open files).
const (
	mostConnections   = 1000000
	filesConnected    = 0.8
	mapsForConnection = 2 // its thread's stack, and the guard page
)

// mappingsOfConnections is how many mappings the connections of a MongoDB take when all are open, and of which; 0 where
// that is not known.
func mappingsOfConnections(f *host.Facts) (least uint64, by host.Database) {
	for _, d := range of(engines("mongodb"), f.Databases) {
		most, set := float64(mostConnections), d.Setting("maxIncomingConnections")
		if n, err := strconv.ParseUint(set.Or(""), 10, 31); err == nil {
			most = float64(n)
		} else if whole(set).unknown() {
			continue
		}
		switch files := d.Limits.OpenFiles; {
		case files.State == host.StateOK:
			most = min(most, filesConnected*float64(files.Value))
		case files.State != host.StateAbsent || files.Source == "":
			continue
		}
		if n := uint64(mapsForConnection * math.Floor(most)); n > least {
			least, by = n, d
		}
	}
	return least, by
}

func adviseMaps(f *host.Facts, _ Role) []setting.Assignment {
	value := int64(1048576) // what newer distributions ship
	connections, _ := mappingsOfConnections(f)
	switch now, known := f.Memory.MaxMapCount.Get(); {
	case runs(f, "hana") || runs(f, "sap"):
		value = math.MaxInt32
	case runs(f, "sqlserver"):
		value = max(1600000, int64(connections)) //nolint:gosec // 2,000,000 at most
	case connections > 0:
		value = max(value, int64(connections)) //nolint:gosec // 2,000,000 at most
		if now > value {
			value = min(2*now, math.MaxInt32)
		}
	case !known: // no source names a number, and few servers need it
		return nil
	case now <= math.MaxInt32/2:
		value = max(value, 2*now)
	default:
		value = math.MaxInt32
	}
	return []setting.Assignment{{Name: "max_map_count", Value: strconv.FormatInt(value, 10)}}
}
