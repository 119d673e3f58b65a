package check

import "hostlab/internal/host"

var cloudCases = []lookCase{
	{id: "NET-010", name: "held back", want: Finding, evidence: "pps = 946",
		facts: heldPackets(known[int64](946, "ethtool -S ens5 pps"))},
	{id: "NET-010", name: "none", want: OK, facts: heldPackets(known[int64](0, "x"))},
	{id: "NET-010", name: "packets", want: Finding, remedy: "larger network allowance",
		facts: heldPackets(known[int64](946, "x"))},
	{id: "NET-010", name: "to DNS", want: Finding, remedy: "# cache answers of DNS on this host", facts: func(f *host.Facts) {
		f.CloudNetworks = []host.CloudNetwork{{Name: "ens5", Packets: known[int64](0, "x"), LinkLocal: known[int64](7, "x")}}
	}},
	{id: "NET-010", name: "tracked", want: Finding, remedy: "not tracked", facts: func(f *host.Facts) {
		f.CloudNetworks = []host.CloudNetwork{{Name: "ens5", Tracked: known[int64](7, "x")}}
	}},
	{id: "NET-010", name: "an old driver", want: NotApplicable, facts: func(f *host.Facts) {
		f.CloudNetworks = []host.CloudNetwork{{Name: "ens5"}}
	}},
	{id: "NET-010", name: "denied", want: Unknown, facts: heldPackets(denied[int64]("x"))},
	{id: "NET-010", name: "no such driver", want: NotApplicable, facts: func(*host.Facts) {}, detail: "other clouds"},
	{id: "STO-015", name: "beyond its IOPS", want: Finding,
		detail: "nvme1n1 was asked for more than the volume's limit of IOPS for 1200 s",
		remedy: "modify-volume", facts: beyondLimit(known(1200.0, "x"), known(0.0, "x"))},
	{id: "STO-015", name: "beyond the instance's", want: Finding, detail: "the instance's limit of throughput",
		facts: beyondLimit(known(0.0, "x"), known(61.0, "x"))},
	{id: "STO-015", name: "for a moment", want: OK, facts: beyondLimit(known(12.0, "x"), known(0.0, "x"))},
	{id: "STO-015", name: "denied", want: Unknown, facts: beyondLimit(denied[float64]("x"), denied[float64]("x"))},
	{id: "STO-015", name: "another cloud", want: NotApplicable, facts: func(*host.Facts) {}, detail: "other clouds"},
}

// heldPackets is an interface of ENA whose driver counts two limits.
func heldPackets(packets host.Fact[int64]) func(f *host.Facts) {
	return func(f *host.Facts) {
		f.CloudNetworks = []host.CloudNetwork{{Name: "ens5", In: known[int64](0, "x"), Packets: packets}}
	}
}

// beyondLimit is a volume that was beyond its limit of IOPS and its instance's of throughput for so long.
func beyondLimit(iops, instance host.Fact[float64]) func(f *host.Facts) {
	return func(f *host.Facts) {
		f.CloudVolumes = []host.CloudVolume{{Name: "nvme1n1", VolumeIOPS: iops, InstanceThroughput: instance}}
	}
}
