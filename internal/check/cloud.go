package check

import (
	"fmt"

	"hostlab/internal/clouds"
	"hostlab/internal/host"
	"hostlab/internal/result"
)

// cloudNetwork and cloudVolumes hold the checks of limits that a cloud counts for its guests.
var cloudNetwork = []Check{
	{
		ID: "NET-010", Title: "Packets held back by the cloud (ENA)",
		Severity: inProduction(Low, Info),
		absent:   "no network interface counts a cloud's limits; other clouds show them in their monitoring alone",
		ok:       "no limit held back a packet since the driver was loaded",
		bad:      "limits of the instance held back packets",
		left:     "it is bought from the cloud",
		look:     lookAllowances,
	},
}

func lookAllowances(f *host.Facts, _ Role) (v view) {
	if rs := hiddenDisks(f); rs != nil { // and with them all of /sys
		return see(rs...)
	}
	held := func(packets host.Fact[int64]) bool { return packets.Or(0) != 0 }
	var sold, tracked, fixed bool
	for _, n := range f.CloudNetworks {
		for _, fact := range []host.Fact[int64]{n.In, n.Out, n.Packets, n.Tracked, n.LinkLocal} {
			if fact.State != host.StateAbsent { // an old driver counts fewer
				v.readings = append(v.readings, read(fact, func(packets int64) bool { return packets == 0 }))
			}
		}
		tracked, fixed = tracked || held(n.Tracked), fixed || held(n.LinkLocal)
		sold = sold || tracked || held(n.In) || held(n.Out) || held(n.Packets)
	}
	if sold {
		v.fix = append(v.fix,
			remark("take an instance type with a larger network allowance, spread connections over several, or "+
				"keep them open"))
	}
	if tracked {
		v.fix = append(v.fix, remark(clouds.Untracked))
	}
	if fixed {
		v.fix = append(v.fix,
			remark("cache answers of DNS on this host: each interface may send 1,024 packets a second to DNS, "+
				"metadata and time services, in all instance types"))
	}
	return v
}

var cloudVolumes = []Check{
	{
		ID: "STO-015", Title: "Volumes asked for more than was bought (EBS)",
		Severity: inProduction(Low, Info),
		absent:   "no volume that counts its limits is seen; other clouds show such limits in their monitoring alone",
		ok:       "no volume was beyond a limit for more than a minute since it was attached",
		left:     "it is bought from the cloud",
		look:     lookVolumes,
		fix: remedy{run("lsblk", "-o",
			"NAME,SERIAL").noting("the serial number is the volume's ID; raise its IOPS or throughput " +
			"(aws ec2 modify-volume), or take an instance type with more for its volumes")},
	},
}

// longBeyond is for how long, in s, a volume may be beyond its limit before that is named.
const longBeyond = 60

func lookVolumes(f *host.Facts, _ Role) (v view) {
	if rs := hiddenDisks(f); rs != nil { // and with them all of /sys
		return see(rs...)
	}
	limits := []string{"the volume's limit of IOPS", "the volume's limit of throughput", "the instance's limit of IOPS",
		"the instance's limit of throughput"}
	for _, c := range f.CloudVolumes {
		for i, fact := range c.Exceeded() {
			if fact.State == host.StateAbsent { // a disk of the instance's host has no limit of a volume
				continue
			}
			r := readAs(fact, func(s float64) string { return result.Format(s, "s") },
				func(s float64) bool { return s <= longBeyond })
			if v.readings = append(v.readings, r); r.bad && v.bad == "" {
				v.bad = fmt.Sprintf("%s was asked for more than %s for %s since it was attached", c.Name, limits[i], r.value)
			}
		}
	}
	return v
}
