package setting

import (
	"errors"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"hostlab/internal/host"
)

const (
	cpuDir      = "/sys/devices/system/cpu"
	freqDir     = cpuDir + "/cpufreq"
	cpuFiles    = cpuDir + "/cpu[0-9]*/"
	policyFiles = freqDir + "/policy*/"
	blockDir    = "/sys/block/"
	noCPUFreq   = "no frequency policy; in a guest, the hypervisor's host decides"
)

// policies are the folders of the frequency policies that have an online CPU; the kernel answers
// EBUSY to every question about the others (cpufreq.c, policy_is_inactive). Before Linux 4.3 a policy was a
// folder of its first CPU, with links from the others.
func policies(sys *System) (dirs []Object) {
	for _, name := range sys.numbered(freqDir, "policy") {
		cpus, err := sys.text(freqDir + "/" + name + "/affected_cpus")
		if errors.Is(err, syscall.EBUSY) || err == nil && cpus == "" {
			continue
		}
		dirs = append(dirs, Object{Name: name, Path: freqDir + "/" + name})
	}
	if len(dirs) > 0 {
		return dirs
	}
	covered := map[string]bool{}
	for _, cpu := range sys.numbered(cpuDir, "cpu") {
		dir := cpuDir + "/" + cpu + "/cpufreq"
		related, err := sys.text(dir + "/related_cpus")
		if err != nil || covered[cpu] {
			continue
		}
		for _, n := range strings.Fields(related) {
			covered["cpu"+n] = true
		}
		dirs = append(dirs, Object{Name: "policy" + strings.TrimPrefix(cpu, "cpu"), Path: dir})
	}
	return dirs
}

// beside is another file of an object's folder.
func beside(o Object, file string) string { return path.Join(path.Dir(o.Path), file) }

// objects lists what there is of a setting here, in the order of writing. The error is why there is none.
func (s Setting) objects(sys *System) ([]Object, error) {
	var list []Object
	common := ""
	for _, f := range s.Files {
		for _, o := range sys.expand(f, s.Stacked) {
			switch {
			case len(s.Files) == 1:
			case !strings.Contains(f, "*"):
				o.Name = path.Base(path.Dir(f))
				common = o.Path
			case common != "" && strings.HasPrefix(f, path.Dir(common)+"/"):
				// A file for all decides. One that differs from it stays an object of its own: where
				// the file for all has the value wanted already, only writing this one helps.
				all, _ := sys.text(common)
				if v, err := sys.text(o.Path); err != nil || v == all {
					continue
				}
			}
			list = append(list, o)
		}
	}
	switch {
	case len(list) > 0:
		return list, nil
	case strings.HasPrefix(s.File, policyFiles) && len(policies(sys)) == 0:
		return nil, errors.New(noCPUFreq)
	}
	return nil, errors.New(s.Absent)
}

// expand lists the files of a pattern that are there. Each star is a part of the object's name.
func (sys *System) expand(pattern string, stacked bool) []Object {
	return sys.below("", pattern, stacked)
}

// below expands a pattern below a directory whose name is taken as it is: a device may be
// called "*" in a recording.
func (sys *System) below(at, pattern string, stacked bool) (list []Object) {
	head, tail, several := strings.Cut(pattern, "*/")
	if !several {
		if sys.exists(at + pattern) {
			list = append(list, Object{Path: at + pattern})
		}
		return list
	}
	dir, stem := path.Split(head)
	dir = at + dir
	stem = strings.TrimSuffix(stem, "[0-9]")
	var parts []Object
	if stem == "policy" {
		parts = policies(sys)
	} else {
		names, err := sys.FS.ReadDir(path.Clean(dir))
		if errors.As(err, new(astray)) {
			return []Object{{Path: path.Clean(dir)}} // reading it says why it cannot be set
		}
		switch {
		case dir == irqDir:
			of := cards(sys)
			names = slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(of, n) })
		case stem == "":
			names = slices.DeleteFunc(names, func(n string) bool {
				return !host.HasQueue(n) && (!stacked || !host.IsStacked(n))
			})
		default:
			names = withNumber(names, stem)
		}
		for _, n := range names {
			parts = append(parts, Object{Name: n, Path: dir + n})
		}
	}
	for _, p := range parts {
		for _, o := range sys.below(p.Path+"/", tail, stacked) {
			list = append(list, Object{Name: path.Join(p.Name, o.Name), Path: o.Path})
		}
	}
	return list
}

// FileOf is the file of an object, or with "" the pattern of all; "" where a setting of several kinds of files
// has none of that name.
func (s Setting) FileOf(object string) string {
	for _, f := range s.Files {
		switch {
		case object == "" && len(s.Files) == 1:
			return f
		case !strings.Contains(f, "*"):
			if object != "" && object == path.Base(path.Dir(f)) {
				return f
			}
		default:
			parts := strings.Split(object, "/")
			pattern := strings.Split(f, "/")
			for i, p := range pattern {
				if stem, star := strings.CutSuffix(p, "*"); star && len(parts) > 0 {
					if !strings.HasPrefix(parts[0], strings.TrimSuffix(stem, "[0-9]")) {
						break
					}
					pattern[i], parts = parts[0], parts[1:]
				}
			}
			if name := strings.Join(pattern, "/"); object != "" && len(parts) == 0 {
				return name
			}
		}
	}
	return ""
}

// alone is the object of a setting that has one for the whole machine; nil: it has several.
func (s Setting) alone() []Object {
	if len(s.Files) != 1 || strings.Contains(s.Files[0], "*") {
		return nil
	}
	return []Object{{Path: s.Files[0]}}
}

// sides are the objects that a write to one may change, and that can be read: the same for every value.
// What cannot be asked for is no reason against a write.
func (s Setting) sides(sys *System, o Object) (list []Side) {
	for _, m := range s.Moves {
		of := sys.setting(m.Setting)
		files := of.Files
		if m.File != "" {
			files = []string{m.File}
		}
		for _, f := range files {
			var moved []Object
			if own := (Object{Name: o.Name, Path: beside(o, path.Base(f))}); !s.shares(f, o) {
				moved = sys.expand(f, of.Stacked)
			} else if sys.exists(own.Path) {
				moved = []Object{own}
			}
			for _, side := range moved {
				if side.Path != o.Path && settable(side.Path) {
					list = append(list, Side{Setting: m.Setting, Object: side, Becomes: m.Becomes})
				}
			}
		}
	}
	return list
}

// shares reports that a pattern's file for an object lies in the folder of the object's own.
func (s Setting) shares(pattern string, o Object) bool {
	return o.Name != "" && slices.ContainsFunc(s.Files, func(f string) bool {
		if path.Dir(f) != path.Dir(pattern) {
			return false
		}
		head, _, several := strings.Cut(path.Base(path.Dir(f)), "*")
		disk := strings.HasPrefix(f, queueDir) && !strings.Contains(o.Name, "/")
		return disk || several && stem(o.Name) == strings.TrimSuffix(head, "[0-9]")
	})
}

// disturbs reports that a write may change other objects.
func (s Setting) disturbs() bool { return len(s.Moves) > 0 }

// object is what the journal knows of one object that we have changed. It has one owner.
type object struct {
	ID      int    `json:"id"`
	Setting string `json:"setting"`
	Name    string `json:"name,omitempty"`
	Path    string `json:"path"`
	Lasting bool   `json:"lasting,omitempty"`

	// Set, Owner and At are of its first change, and Boot of its last.
	Set   int       `json:"set"`
	Owner string    `json:"owner"`
	At    time.Time `json:"at"`
	Boot  string    `json:"boot"`
	// Original is what it read before, and is to read again.
	Original string `json:"original"`
	Side     string `json:"side,omitempty"` // not set itself: this setting changes it too

	// Ours is what it read after the last write of ours, or before the first.
	Ours string `json:"ours"`
	// Wrote is what was last written; Done, that it could be read back.
	Wrote string `json:"wrote,omitempty"`
	Done  bool   `json:"done,omitempty"`
	// Maybe are other values that are ours: a write began, and we were killed before
	// we read what it had done. Any: whatever it reads is.
	Maybe []string `json:"maybe,omitempty"`
	Any   bool     `json:"any,omitempty"`
}

// apply takes an object of a journal that was rewritten.
func (o *object) apply(st *state) error {
	if !settable(o.Path) {
		return errors.New("it is no object")
	}
	st.began = true
	st.objects[o.Path] = o
	st.nextID, st.nextSet = max(st.nextID, o.ID+1), max(st.nextSet, o.Set+1)
	return nil
}

// mine reports whether a value is one that we have set. What was last written counts also
// where it has read otherwise since: a minimum that was kept below a lower maximum returns
// when that is raised, and cpufreq does so a moment after the write, from a work queue
// (refresh_frequency_limits, Linux 5.3).
func (o *object) mine(value string) bool {
	return value == o.Ours || o.Wrote != "" && value == o.Wrote || o.Any || slices.Contains(o.Maybe, value)
}

// restorable reports whether a revert may write over a value. The original is one that a revert
// has put back, and could not say so in the journal of a full disk.
func (o *object) restorable(value string) bool { return value == o.Original || o.mine(value) }

// settle records what the object reads after a write.
func (o *object) settle(value string) {
	o.Ours, o.Maybe, o.Any, o.Done = value, nil, false, true
}

// disturbed records that a write to another object may have changed this one.
func (o *object) disturbed(s sideways) {
	o.Any = o.Any || s.Any
	o.Maybe = append(o.Maybe, s.Becomes...)
}

func (o *object) object() Object { return Object{Name: o.Name, Path: o.Path} }

func (o *object) rebooted(boot string) bool { return forgotten(o.Lasting, o.Boot, boot) }

// forgotten reports whether the kernel has started again since an object was written.
// With an unknown boot ID nothing can be said, and values decide.
func forgotten(lasts bool, was, now string) bool {
	return !lasts && was != "" && now != "" && was != now
}
