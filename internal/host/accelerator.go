package host

import "strings"

// readAccelerators finds Intel's data accelerators, and counts their work queues that programs can use
// (Documentation/ABI/stable/sysfs-driver-dma-idxd).
func readAccelerators(t Tree) []Accelerator {
	const bus = "/sys/bus/dsa/devices"
	list := []Accelerator{}
	names, _ := t.Dir(bus)
	for _, name := range names {
		if !strings.HasPrefix(name, "dsa") && !strings.HasPrefix(name, "iax") {
			continue
		}
		a := Accelerator{Name: name, Queues: Known[int64](0, "", bus+"/"+name)}
		queues, err := t.Dir(bus + "/" + name)
		if err != nil {
			a.Queues = Unknown[int64](bus+"/"+name, err)
		}
		for _, q := range queues {
			if strings.HasPrefix(q, "wq") && t.Text(bus+"/"+name+"/"+q+"/state").Or("") == "enabled" {
				a.Queues.Value++
			}
		}
		list = append(list, a)
	}
	return list
}
