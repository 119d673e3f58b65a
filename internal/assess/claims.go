package assess

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/lever"
	"hostlab/internal/pods"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// limitsOf is what the containers of the service may use and asked for.
func (m *Minute) limitsOf() document.Section {
	if len(m.Claims) == 0 {
		return document.Section{}
	}
	t := &document.Table{Lead: "Each limit is the container's own or that of a group around it, such as its pod's. CPU " +
		"requests are derived from weights. Of two values, the second is that of runc 1.3.2, crun 1.23 and later. The kernel " +
		"does not hold requests of memory: kubectl describe pod shows them.",
		Columns: append(document.Headings("container", "CPU limit", "stopped by its limit", "CPU request", "memory limit",
			"killed"),
			document.Column{Head: "huge pages"})}
	for _, c := range m.Claims {
		var row []document.Cell
		l := c.Limits
		for _, cell := range []string{screen.Clean(c.Name),
			said(l.CPUQuota, "no limit", func(v float64) string { return fmt.Sprintf("%.3g CPUs", v) }),
			stopped(l), said(c.Request, "none", requestedCPUs),
			said(l.MemoryMax, "no limit", func(v int64) string { return result.Format(float64(v), "B") }),
			said(l.MemoryKills, "not counted", func(v int64) string { return screen.Plural(int(v), "process", "processes") }),
			huge(c.Huge)} {
			row = append(row, document.Text(cell))
		}
		t.Add(row...)
	}
	return document.Titled("Limits of its containers", t)
}

// said is a fact in a table.
func said[T any](f host.Fact[T], absent string, say func(T) string) string {
	switch f.State {
	case host.StateOK:
		return say(f.Value)
	case host.StateAbsent:
		return absent
	}
	return "not known"
}

// requestedCPUs says a request, of which two are possible where a weight does not tell who made it.
func requestedCPUs(r host.Request) string {
	if r.Later == 0 {
		return fmt.Sprintf("%.2g CPUs", r.CPUs)
	}
	return fmt.Sprintf("%.2g or %.2g CPUs", r.CPUs, r.Later)
}

// stopped says in how many periods a quota stopped it since it began.
func stopped(l host.Limits) string {
	return said(l.CPUThrottled, "no limit", func(n int64) string {
		return fmt.Sprintf("in %d of %d periods", n, l.CPUPeriods.Or(0))
	})
}

// huge says how much of huge pages it may use.
func huge(list []host.HugeLimit) string {
	var each []string
	for _, h := range list {
		each = append(each, h.Size+": "+said(h.Bytes, "no limit", func(v int64) string {
			if v == 0 {
				return "none allowed"
			}
			return result.Format(float64(v), "B")
		}))
	}
	if len(each) == 0 {
		return "not known"
	}
	return strings.Join(each, ", ")
}

// raised is what to do so that the limit in a file is twice as large. A container's runtime or kubelet writes the files
// of its group.
func (m *Minute) raised(next lever.Next, file, field, flag string) lever.Next {
	if len(m.Service.Containers) == 0 {
		return next
	}
	c := m.holder(file)
	by := limiting(c, field, flag)
	switch {
	case by.Command != "":
		return lever.Next{Command: by.Command, Note: c.String() + ": " + next.Note}
	case by.Note != "" && c.Engine != "lxc": // whose files nobody writes anew
		return lever.Next{Note: "raise " + by.Note}
	}
	return next
}

// holder is the service's container whose group has a file; the first where that is the pod's.
func (m *Minute) holder(file string) pods.Container {
	list := m.Service.Containers
	i := slices.IndexFunc(list, func(c pods.Container) bool { return c.Group != "" && strings.Contains(file, c.Group+"/") })
	return list[max(i, 0)]
}

// limiting is how a container's runtime limits it: a command, or where the limit is written; neither: it is not known.
func limiting(c pods.Container, field, flag string) lever.Next {
	name := screen.Clean(cmp.Or(c.Name, c.Short()))
	switch {
	case c.Pod != "" || c.UID != "":
		of, pod := "its container", "its pod"
		if c.Name != "" && c.Name != pods.Sandbox {
			of = "container " + name
		}
		if c.Pod != "" {
			pod = "pod " + screen.Clean(c.Namespace+"/"+c.Pod)
		}
		return lever.Next{Note: fmt.Sprintf("spec.containers[].resources.limits.%s of %s in the manifest of %s", field, of,
			pod)}
	case c.Engine == "docker" || c.Engine == "podman" || c.Engine == "nerdctl":
		// By its ID: two engines, or two users of one, may have a container of one name.
		command := c.Engine + " update " + flag + " " + screen.Word(screen.Clean(cmp.Or(c.Short(), c.Name)))
		if c.Owner == 0 {
			command = "sudo " + command
		}
		return lever.Next{Command: command}
	case c.Engine == "lxc":
		limit := map[string]string{"cpu": "limits.cpu.allowance of %s in LXD or Incus, lxc.cgroup2.cpu.max in LXC",
			"memory": "limits.memory of %s in LXD or Incus, lxc.cgroup2.memory.max in LXC"}[field]
		return lever.Next{Note: fmt.Sprintf(limit, "container "+name)}
	case c.Engine == "containerd":
		option, _, _ := strings.Cut(flag, " ")
		if field == "memory" {
			option = "--memory-limit"
		}
		return lever.Next{Note: option + " where container " + name + " is started, as by ctr run"}
	}
	return lever.Next{}
}
