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

// served reports a file whose file system is a process, which answers a read as a server does.
func (b *blocked) served(file string) bool {
	if !strings.HasPrefix(file, "/") {
		return false
	}
	at, known := b.fuse[file]
	if !known {
		if b.fuse == nil {
			b.fuse = map[string]fileServer{}
		}
		for id, looks := range b.tally.Looks {
			for w := range looks {
				if w.On == file && !at.is {
					at.pid, at.is = proc.FileServer(id.PID, file)
				}
			}
		}
		b.fuse[file] = at
	}
	return at.is
}

type fileServer struct {
	pid int
	is  bool
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
	switch of, file := b.fuse[o.On]; {
	case o.Seconds <= 0:
		return nil
	case file:
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
