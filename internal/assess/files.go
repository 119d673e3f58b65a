package assess

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/explain"
	"hostlab/internal/lever"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/waits"
)

// fileSystem is what a file lies on: one that a process serves, or one of which each write waits for its device.
type fileSystem struct {
	pid         int
	is, through bool
}

// system is that of a file, as the thread sees it that waits for it.
func (b *blocked) system(file string) fileSystem {
	at, known := b.systems[file]
	if !known && strings.HasPrefix(file, "/") {
		if b.systems == nil {
			b.systems = map[string]fileSystem{}
		}
		for id, looks := range b.tally.Looks {
			for w := range looks {
				if w.On == file && !at.is {
					at.pid, at.is, at.through = proc.FileSystem(id.PID, file)
				}
			}
		}
		b.systems[file] = at
	}
	return at
}

// served reports a file whose file system is a process, which answers a read as a server does.
func (b *blocked) served(file string) bool { return b.system(file).is }

// logs reports a wait until a file's data is on its device, or for another thread's.
func (b *blocked) logs(w waits.Wait) bool {
	if b.synced == nil {
		b.synced = map[string]bool{}
		for x := range b.tally.ByWait() {
			b.synced[x.On] = b.synced[x.On] || x.Kind == waits.Sync && x.On != ""
		}
	}
	return w.Kind == waits.Sync || w.Kind == waits.Write && w.Blocked && (b.synced[w.On] || b.system(w.On).through)
}

// stalls reports a write that has to wait for a device, though nobody has asked for that: it takes no more, or too much
// waits for it.
func (b *blocked) stalls(w waits.Wait) bool {
	return w.Kind == waits.Write && w.Blocked && strings.HasPrefix(w.On, "/") && !b.served(w.On) && !b.logs(w)
}

// onFiles is what the service's threads wait for in calls on files, and who may make them wait; nil: they do not.
func (b *blocked) onFiles(members []int) *Other {
	if b.tally == nil {
		return nil
	}
	o := b.longest(func(w waits.Wait) bool { return w.Kind == waits.Path })
	if x := b.longest(func(w waits.Wait) bool {
		return (w.Kind == waits.Read || w.Kind == waits.Write) && b.served(w.On)
	}); x.Seconds > o.Seconds {
		o = x
	}
	if x := b.longest(b.stalls); x.Seconds > o.Seconds {
		o, o.Stalls = x, true
	}
	switch of := b.systems[o.On]; {
	case o.Seconds <= 0:
		return nil
	case o.Stalls:
	case of.is:
		o.is(of.pid, members)
	default:
		if guard := proc.Guard(); !slices.Contains(members, guard) {
			o.is(guard, members)
		}
	}
	return &o
}

// onFiles says so.
func (m *Minute) onFiles() []explain.Finding {
	o := m.Files
	if o == nil || m.Report.Busy <= 0 {
		return nil
	}
	share := lever.Unit(o.Seconds / m.Report.Busy)
	f := explain.Finding{Parameter: "calls on files", Part: explain.OtherWaits, Number: o.Seconds, Unit: "s", N: -1,
		Explains: &share, Whole: true, AtMost: result.Finite(lever.Unit(m.share(explain.OtherWaits).High +
			m.share(explain.DataReads).High + m.share(explain.RunQueue).High)),
		Text: fmt.Sprintf("%s waits %s of its active time within %s", m.subject(), result.Share(share), screen.Clean(o.On)),
		Step: "see on which files it does that, and what their file system waits for"}
	who := o.called()
	switch {
	case o.Stalls && len(m.throttled()) > 0: // which says more
		return nil
	case o.Stalls:
		f.Parameter, f.AtMost = "writes that wait", result.Finite(lever.Unit(*f.AtMost+brought*m.share(explain.DatabaseCPU).High))
		f.Text = fmt.Sprintf("%s waits %s of its active time until the kernel takes what it writes to %s", m.subject(),
			result.Share(share), screen.Clean(o.On))
		f.Step = "have it write less, or to a faster device; how much may wait for one: sysctl vm.dirty_ratio vm.dirty_bytes"
	case strings.HasPrefix(o.On, "/"):
		f.Step = "have that process answer faster, or keep its files elsewhere"
		if who != "" {
			f.Step = "have that answer faster, or keep the files elsewhere" + o.next()
		}
		f.Text = fmt.Sprintf("%s waits %s of its active time for %s, whose file system is %s (FUSE)", m.subject(),
			result.Share(share), screen.Clean(o.On), cmp.Or(who, "a process"))
	case who != "":
		f.Text += fmt.Sprintf(", while %s is asked before a file is opened (fanotify)", who)
		f.Step = "have that leave out the files of this service" + o.next()
	}
	return []explain.Finding{f}
}
