package assess

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path"
	"slices"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/lever"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/service"
	"hostlab/internal/waits"
)

// Stopped are threads, or processes of a database, that a signal, a debugger or a freezer kept still.
type Stopped struct {
	Seconds float64 `json:"seconds"`
	Ran     float64 `json:"ran"`   // s that they were on a CPU or ready for one; 0: of a database
	Looks   float64 `json:"looks"` // that saw one stopped
	// File tells that a control group is frozen; "": a signal or a debugger did it.
	File string `json:"file,omitempty"`
	// PIDs are some of the Processes that were stopped, and All is set where those are all of the service.
	PIDs      []int `json:"pids,omitempty"`
	Processes int   `json:"processes,omitempty"`
	All       bool  `json:"all,omitempty"`
	// Tracer is the process that traces one of them, and TracerName its program; 0: none does.
	Tracer     int    `json:"tracer,omitempty"`
	TracerName string `json:"tracer_name,omitempty"`
}

// mostStopped is how many processes a minute names.
const mostStopped = 10

// stopped sums up what looks at threads saw; nil: none that has work was stopped.
func (b *blocked) stopped() *Stopped {
	var all Stopped
	if b.tally == nil {
		return nil
	}
	files, pids := map[string]float64{}, map[int]bool{}
	for id, looks := range b.tally.Looks {
		ran, watched := b.tally.Of(id)
		for w, s := range looks {
			if w.Kind == waits.Stopped && ran >= awake*watched {
				files[w.On] += s
				all.Seconds, pids[id.PID] = all.Seconds+s, true
			}
		}
		if pids[id.PID] {
			all.Ran += ran
		}
	}
	all.Looks = all.Seconds / max(b.pace.Seconds(), 1e-3)
	return all.by(files, pids)
}

// by adds what stopped them for most of the time.
func (s Stopped) by(files map[string]float64, pids map[int]bool) *Stopped {
	if s.Seconds == 0 {
		return nil
	}
	for file, seconds := range files {
		if seconds > files[s.File] || seconds == files[s.File] && file > s.File {
			s.File = file
		}
	}
	s.PIDs = slices.Sorted(maps.Keys(pids))
	for _, pid := range s.PIDs {
		if tracer := proc.Tracer(pid); tracer != 0 && s.File == "" {
			of, _ := proc.Read(tracer)
			s.Tracer, s.TracerName = tracer, of.Name
		}
	}
	s.Processes = len(s.PIDs)
	s.PIDs = s.PIDs[:min(mostStopped, len(s.PIDs))]
	return &s
}

// halts looks at the processes of a database, whose sessions do not tell that they stand still.
type halts struct {
	all   Stopped
	files map[string]float64
	pids  map[int]bool
}

// Looks at freezers come ten times a second, in a stretch of many once, since each wakes hostlab. Those at processes
// come more seldom where that takes long: a 2000th of one CPU.
const haltsPause = 2000

func (o *Options) haltsEach() time.Duration {
	if o.Stretch {
		return time.Second
	}
	return time.Second / 10
}

func (h *halts) watch(ctx context.Context, s *service.Service, o Options) {
	rarely, each := time.Duration(o.rarely()), o.haltsEach()
	h.files, h.pids, h.all.All = map[string]float64{}, map[int]bool{}, true
	var groups proc.Freezers
	var members []int
	var next, listed time.Time
	last := time.Now()
	for end := last.Add(o.For); ctx.Err() == nil && last.Before(end); {
		now := time.Now()
		if !now.Before(next) {
			members = s.Members()
			groups.Follow(members)
			if !listed.IsZero() {
				h.signalled(members, now.Sub(listed).Seconds())
			}
			listed, next = now, now.Add(rarely*max(time.Second, haltsPause*time.Since(now)))
		}
		groups.Look()
		still := 0
		for _, pid := range members {
			if file := groups.Frozen(pid); file != "" {
				h.add(pid, file, now.Sub(last).Seconds())
				still++
			}
		}
		h.all.All = h.all.All && (still == 0 || still == len(members))
		last = now
		wait(ctx, each/2+time.Duration(rand.Int64N(int64(each)))) // freezers may keep time, too
	}
}

// signalled looks at who is stopped by a signal or a debugger, for the time since the last such look.
func (h *halts) signalled(members []int, seconds float64) {
	for _, pid := range members {
		if p, err := proc.Read(pid); err == nil && (p.State == 'T' || p.State == 't') {
			h.add(pid, "", seconds)
			h.all.All = false
		}
	}
}

func (h *halts) add(pid int, file string, seconds float64) {
	h.all.Seconds, h.all.Looks = h.all.Seconds+seconds, h.all.Looks+1
	h.files[file], h.pids[pid] = h.files[file]+seconds, true
}

// stopped sums it up; nil: none was stopped.
func (h *halts) stopped() *Stopped { return h.all.by(h.files, h.pids) }

// halted says so: nothing else shortens that time.
func (m *Minute) halted() []explain.Finding {
	s := m.Stopped
	if s == nil || m.Report.Busy <= 0 {
		return nil
	}
	f := explain.Finding{Parameter: "stopped threads", Part: explain.OtherWaits, Number: s.Seconds, Unit: "s", N: int64(s.Looks)}
	n := float64(max(1, s.Processes))
	still := s.Seconds * (1 + 1.96/math.Sqrt(max(1, s.Looks/n))) // looks are counted (Poisson)
	var share, most float64
	switch each := s.Seconds / n; {
	case !m.Connected:
		share = lever.Unit(s.Seconds / (s.Seconds + m.Report.Busy))
		// all stop together, so that they wait for a CPU together, too
		most = (still + m.Report.Part(explain.RunQueue).Seconds) / (s.Seconds + s.Ran)
	case s.All: // its sessions stand still together
		share = lever.Unit(each / max(m.Report.Wall, 1e-9))
		most = share*still/s.Seconds + m.share(explain.RunQueue).High
	default: // and others wait for what they hold
		f.Part = explain.Locks
		share = lever.Unit(each/m.Report.Busy + m.share(explain.Locks).Value*m.heldBy(s.PIDs))
		most = still/m.Report.Busy + m.share(explain.Locks).High
	}
	f.Explains, f.AtMost = &share, result.Finite(lever.Unit(max(share, most)))
	if s.Tracer != 0 { // each system call takes longer, too, by switches to the tracer and back
		f.AtMost = result.Finite(1)
	}
	by, step := s.who()
	seconds := s.Seconds
	if m.Connected {
		seconds /= n
	}
	f.Text = fmt.Sprintf("%s stopped %s for %s in %s", by, m.still(), result.Format(seconds, "s"),
		result.Format(m.Report.Wall, "s"))
	if s.Ran > 0 {
		f.Text += fmt.Sprintf(", in which they ran for %s", result.Format(s.Ran, "s"))
	}
	f.Step = step
	return []explain.Finding{f}
}

// who stopped them, and what to do.
func (s *Stopped) who() (by, step string) {
	if s.Tracer != 0 {
		return fmt.Sprintf("%s (PID %d), which traces them,", screen.Clean(s.TracerName), s.Tracer),
			fmt.Sprintf("end it, which lets them go: kill %d", s.Tracer)
	}
	by, step = "a signal (SIGSTOP) or a debugger", "find what stops them: cpulimit, a script that sends SIGSTOP, or a "+
		"debugger (TracerPid in /proc/PID/status)"
	switch path.Base(s.File) {
	case "freezer.state":
		by, step = "a freezer ("+s.File+")", "find what freezes them; to let them go now: echo THAWED | sudo tee "+screen.Word(s.File)
	case "cgroup.events":
		by, step = "a freezer ("+s.File+")", "find what freezes them; to let them go now: echo 0 | sudo tee "+
			screen.Word(path.Join(path.Dir(s.File), "cgroup.freeze"))
	}
	return by, step
}

// still names who was stopped.
func (m *Minute) still() string {
	s := m.Stopped
	switch {
	case !m.Connected:
		return "its threads"
	case s.All:
		return "all of its processes"
	case s.Processes == 1:
		return fmt.Sprintf("its process %d", s.PIDs[0])
	}
	return fmt.Sprintf("%d of its processes, as %d,", s.Processes, s.PIDs[0])
}

// heldBy is the share of lock waits that ended with processes.
func (m *Minute) heldBy(pids []int) (share float64) {
	for _, b := range m.Report.Blockers {
		if slices.Contains(pids, int(b.PID)) {
			share += b.Share.Value * b.Held
		}
	}
	return min(1, share)
}
