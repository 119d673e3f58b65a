package client

import (
	"slices"
	"strings"

	"hostlab/internal/explain"
)

// backend is the process or thread of this host that serves the job's session.
type backend struct {
	task int    // its number in the kernel
	why  string // it is not known; empty: it is
}

// backendOf is that of a server of the user's, where the server says which process or
// thread it is and that is one of this host, by its name: behind a forwarded port or in a
// container the number is another's.
func backendOf(here bool, id int, names ...string) backend {
	if here && id > 0 {
		comm := explain.Comm(int64(id))
		if slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(comm, n) }) {
			return backend{task: id}
		}
	}
	return backend{why: "the server's processes are not of this host, or hidden"}
}

func (b backend) session() (cpu, queued counter) {
	why := b.why
	if why == "" {
		run, queue, err := explain.SchedStat(int64(b.task))
		if err == nil {
			return known(run.Seconds()), known(queue.Seconds())
		}
		why = "this kernel does not tell"
	}
	return counter{why: why}, counter{why: why}
}
