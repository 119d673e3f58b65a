package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hostlab/internal/delayfs"
	"hostlab/internal/experiment"
	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/trust"
	"hostlab/internal/workload"
	"hostlab/internal/workload/logcommit"
)

// leastRoom is what a level's directory has to have free before anything is run; what a
// workload takes beyond that it finds out itself.
const leastRoom = 1 << 20

// lookAt says which levels have no directory here, on what the others lie, and which of
// them lie on the same device, between which there is nothing to see.
func lookAt(s *experiment.Study, f experiment.Factor) experiment.Here {
	here := experiment.Here{Lacks: map[string]string{}}
	on := map[string]string{} // device, with its delay -> level
	for _, l := range f.Levels {
		d, named := f.Directories[l]
		if !named {
			here.Lacks[l] = fmt.Sprintf("no directory was named for it: --set level.%s=DIRECTORY", l)
			continue
		}
		found, why := inspect(s, l, d)
		if why != "" {
			here.Lacks[l] = why
			continue
		}
		place := result.Place{Factor: f.Name, Level: l, On: found.on, Emulated: d.Delay > 0, Volatile: found.memory &&
			d.Delay == 0}
		if d.Delay > 0 {
			place.On = fmt.Sprintf("emulated: each sync takes %s longer (FUSE), over %s", d.Delay, found.on)
		}
		// A device that is slowed is slower than itself, so that there is a contrast.
		at := fmt.Sprint(found.device, " ", d.Delay)
		place.Cautions = found.cautions(f.Name, l, d.Delay, on[at])
		if found.device != "" && on[at] == "" {
			on[at] = l
		}
		here.Places = append(here.Places, place)
	}
	return here
}

// directory is what a level's directory lies on.
type directory struct {
	on     string // in words
	device string // "": not known
	memory bool
	doubt  string // what it does not have that the level's name says it has; "": it has it, or nothing tells
}

// inspect looks at a level's directory, or says why it cannot be used. The record's own need not be there yet.
func inspect(s *experiment.Study, level string, d experiment.Directory) (directory, string) {
	own := d.Dir == "" || d.Dir == experiment.OwnDirectory
	dir := workload.Under(s.Dir, d.Dir)
	found := directory{on: dir}
	if own {
		dir, found.on = "", "the record's directory"
		if s.Out != "" {
			dir = standing(s.Out)
		}
	}
	if d.Delay > 0 {
		if why := delayfs.Lacking(); why != "" {
			return found, why
		}
		if !own {
			if err := trust.AsRoot(dir); err != nil {
				return found, err.Error()
			}
		}
	}
	if dir == "" {
		return found, ""
	}
	storage := host.StorageOf(host.Tree{}, dir)
	if err := logcommit.Preflight(storage, dir, leastRoom); err != nil {
		if bad, ok := errors.AsType[*logcommit.DirError](err); ok {
			return found, bad.Dir + " cannot be used: " + bad.Problem
		}
		return found, err.Error()
	}
	where, device := lies(storage)
	fs := storage.FSType.Or("")
	return directory{found.on + where, device, fs == "tmpfs" || fs == "ramfs", promised(level, storage)}, ""
}

// cautions say what a level is not. same is another level on the same device; "": none.
func (d directory) cautions(factor, level string, delay time.Duration, same string) (out []string) {
	caution := func(format string, a ...any) {
		out = append(out, fmt.Sprintf("factor "+factor+": "+format, a...))
	}
	slowed := ""
	if delay > 0 {
		slowed = fmt.Sprintf(", slowed by %s", delay)
		caution("level %s is emulated: a file system of hostlab adds %s to each sync, in place of a slow device", level,
			delay)
	} else if d.doubt != "" {
		caution("level %s %s (%s); do not take it for what its name says", level, d.doubt, d.on)
	}
	if same != "" {
		caution("levels %s and %s lie on the same device (%s%s): expect no contrast between them", same, level,
			strings.TrimPrefix(d.device, "/dev/"), slowed)
	}
	return out
}

// promised is what a level does not have that its name says it has: the names are those
// of the built-in studies. It is empty where it has it, or nothing tells.
func promised(level string, s host.Storage) string {
	switch level {
	case "dax":
		if dax, known := s.DAX.Get(); known && !dax {
			return "has no DAX: its files are not mapped from the device itself"
		}
	case "tmpfs":
		if fsType, known := s.FSType.Get(); known && fsType != "tmpfs" && fsType != "ramfs" {
			return "is not in memory"
		}
	case "pmem":
		if class, known := s.Class.Get(); known && class != host.ClassPmem && class != host.ClassPmemDAX {
			return "is not on persistent memory"
		}
	}
	return ""
}

// standing is the nearest directory above one that is to be made which is there.
func standing(dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// lies says on what a directory lies: " on /dev/sda1 (ext4)". device is what two
// directories have in common that have nothing to be compared.
func lies(s host.Storage) (where, device string) {
	source, fsType := s.Device.Or(""), s.FSType.Or("")
	device = source
	if n := len(s.Stack); n > 0 {
		device = s.Stack[n-1].Name
	}
	switch {
	case source == "" && fsType == "":
		return "", ""
	case source == "" || source == fsType:
		return " on " + fsType, device
	}
	return " on " + source + " (" + fsType + ")", device
}

// places are the directories that levels stand for. Slowed ones are mounted when they
// are first needed.
type places struct {
	study  *experiment.Study
	record *os.Root
	root   string                    // of mounts, the directory slowDir of the record
	id     string                    // of the record
	behind []string                  // made by us, in directories of the user's
	mounts map[string]*delayfs.Mount // by level
	at     map[string]string
}

// slowDir is where in the record's directory slowed directories are mounted.
const slowDir = "slow"

// newPlaces removes what a killed session has left.
func newPlaces(s *experiment.Study, record *os.Root, id string) (*places, error) {
	root, err := filepath.Abs(filepath.Join(record.Name(), slowDir))
	if err != nil {
		return nil, err
	}
	p := &places{study: s, record: record, root: root, id: id, mounts: map[string]*delayfs.Mount{},
		at: map[string]string{}}
	for _, f := range s.Factors {
		for _, d := range f.Directories {
			if d.Delay > 0 && d.Dir != "" && d.Dir != experiment.OwnDirectory {
				p.behind = append(p.behind, p.behindIn(d))
			}
		}
	}
	if _, err := record.Lstat(slowDir); err == nil {
		delayfs.Sweep()
	}
	return p, p.remove()
}

// behindIn is the directory of ours in one of the user's.
func (p *places) behindIn(d experiment.Directory) string {
	return filepath.Join(workload.Under(p.study.Dir, d.Dir), ".hostlab-delay-"+p.id)
}

// directory is what a level stands for, as a workload's parameter: "" is the workload's
// own directory.
func (p *places) directory(ctx context.Context, f experiment.Factor, level string) (string, error) {
	d, ok := f.Directories[level]
	switch {
	case !ok:
		return "", errors.New("no directory was named for it") // such a level is taken out before
	case d.Delay == 0 && d.Dir == experiment.OwnDirectory:
		return "", nil
	case d.Delay == 0:
		return workload.Under(p.study.Dir, d.Dir), nil
	case p.at[f.Name+" "+level] != "":
		return p.at[f.Name+" "+level], nil
	}
	base := filepath.Join(p.root, fmt.Sprint(len(p.mounts)))
	at, behind := filepath.Join(base, "at"), filepath.Join(base, "behind")
	if d.Dir != "" && d.Dir != experiment.OwnDirectory {
		behind = p.behindIn(d)
		if err := trust.AsRoot(filepath.Dir(behind)); err != nil {
			return "", err
		}
	}
	for _, dir := range []string{at, behind} {
		if err := trust.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
	}
	m, err := delayfs.New(ctx, behind, at, d.Delay)
	if err != nil {
		return "", err
	}
	p.mounts[f.Name+" "+level], p.at[f.Name+" "+level] = m, at
	return at, nil
}

// close unmounts and removes everything. It may be called again, and on nil.
func (p *places) close() error {
	if p == nil {
		return nil
	}
	var errs []error
	for name, m := range p.mounts {
		errs = append(errs, m.Close())
		delete(p.mounts, name)
	}
	if err := errors.Join(errs...); err != nil {
		return err // nothing is removed through a mount
	}
	return p.remove()
}

func (p *places) remove() error {
	errs := []error{p.record.RemoveAll(slowDir)}
	for _, dir := range slices.Compact(slices.Sorted(slices.Values(p.behind))) {
		errs = append(errs, os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}
