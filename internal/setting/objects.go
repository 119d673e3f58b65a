package setting

import (
	"errors"
	"path"
	"slices"
	"strings"
	"syscall"

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
