package host

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"hostlab/internal/trust"
)

// maxDepth bounds the recursion over stacked devices. Ten layers would be odd
// already, and a garbled recording may be a circle. maxLayers bounds their number:
// a circle that branches twice in each layer would have 2^16 of them. A volume
// group on hundreds of multipathed disks has a thousand or two.
const (
	maxDepth  = 16
	maxLayers = 2048
)

// stack collects the layers below a file system and the classes of the disks at
// their end.
type stack struct {
	block   block
	layers  []StackLayer
	mounts  []Mounted // the file system asked about first, then those below it
	classes []string
	top     string // the whole device that the file system is on
	unknown string // why a part of the stack cannot be seen
	seen    map[string]whole
}

// whole is a device, which may lie below several others and is read once.
type whole struct {
	layer StackLayer
	parts []string // what it is made of
	why   string   // its class is not known
}

// add descends from a device to the disks: depth first, so that a layer stands
// right above what it is made of.
func (s *stack) add(name string, depth int) {
	switch {
	case depth > maxDepth:
		s.end("", fmt.Sprintf("more than %d layers of devices", maxDepth))
		return
	case len(s.layers) >= maxLayers:
		s.end("", fmt.Sprintf("more than %d devices below each other", maxLayers))
		return
	}
	if disk := s.block.diskOf(name); disk != "" {
		s.layers = append(s.layers, StackLayer{Name: name, Kind: "partition", Depth: depth})
		s.addWhole(disk, depth+1)
		return
	}
	s.addWhole(name, depth)
}

func (s *stack) addWhole(name string, depth int) {
	s.top = cmp.Or(s.top, name)
	d, ok := s.seen[name]
	if !ok {
		d = s.block.whole(name)
		if s.seen == nil {
			s.seen = map[string]whole{}
		}
		s.seen[name] = d
	}
	d.layer.Depth = depth
	s.layers = append(s.layers, d.layer)
	if d.layer.Kind == "loop" {
		s.addBacking(name, depth+1)
		return
	}
	for _, p := range d.parts {
		if s.add(p, depth+1); len(s.layers) >= maxLayers {
			break
		}
	}
	if len(d.parts) == 0 || d.layer.Kind == "drbd" && d.why != "" || d.layer.Queue.Class == ClassNetwork {
		s.end(d.layer.Queue.Class, d.why)
	}
}

func (b block) whole(name string) whole {
	kind, dev := b.kind(name), b.device(name)
	_, why := b.class(name)
	return whole{StackLayer{Name: name, Kind: kind, Label: b.label(name, kind), Queue: &dev}, b.slaves(name), why}
}

// end notes the class of what ends a branch; why one that is "" is not known.
func (s *stack) end(class, why string) {
	if s.classes = append(s.classes, class); class == "" {
		s.unknown = why
	}
}

func (s *stack) addBacking(name string, depth int) {
	file, ok := notEmpty(s.block.t.Text(s.block.dir(name) + "/loop/backing_file")).Get()
	if !ok {
		s.end("", "the file behind "+name+" is not to be seen")
		return
	}
	v := view{s.block.t, "", selfMounts}
	if resolved, err := v.resolve(strings.TrimSuffix(file, " (deleted)")); err == nil {
		file = resolved
	}
	m := readMounts(v.t, v.mounts)
	if mnt := m.find(strings.TrimSuffix(file, " (deleted)")); mnt != nil {
		s.addMount(m, mnt, depth)
		return
	}
	s.end("", "the mount of "+file+" is not known")
}

func (s *stack) addMount(m mountTable, mnt *mount, depth int) {
	if depth > maxDepth {
		s.add("", depth)
		return
	}
	s.mounts = append(s.mounts, mnt.facts(m.path))
	if class, why := fsClass(mnt); class != "" || why != "" {
		s.end(class, why)
		return
	}
	if mnt.fsType == "overlay" {
		s.addOverlay(m, mnt, depth)
		return
	}
	names, err := s.devicesOf(mnt)
	for _, n := range names {
		s.add(n, depth)
	}
	if err != nil {
		s.end("", err.Error())
	}
}

// devicesOf lists the block devices of a mount; the error says why there may be more.
func (s *stack) devicesOf(mnt *mount) ([]string, error) {
	var names []string
	if n := s.block.byNumber(mnt.dev); n != "" {
		names = append(names, n)
	}
	source := []string{mnt.source}
	if mnt.fsType == "bcachefs" {
		source = strings.Split(mnt.source, ":") // all members
	}
	if log, external := mnt.option("logdev"); external && mnt.fsType == "xfs" { // for which a commit waits
		source = append(source, log)
	}
	for i, file := range source {
		n := s.sourceName(file)
		switch {
		case i == 0 && len(names) > 0 || slices.Contains(names, n): // a number is surer than a name
		case s.block.dir(n) == "":
			return names, fmt.Errorf("/sys does not show the device %s (%s)", file, mnt.dev)
		default:
			names = append(names, n)
		}
	}
	if members, ok := s.members(mnt.fsType, names); ok {
		return members, nil
	} else if mnt.fsType == "btrfs" {
		return names, fmt.Errorf("/sys does not tell the disks of %s; btrfs filesystem show lists them", mnt.point)
	}
	return names, nil
}

// members lists the devices of a file system that has several, one of which is known, as it shows them in
// /sys/fs/btrfs/UUID/devices, and in /sys/fs/bcachefs/UUID/dev-0/block and so on.
func (s *stack) members(fsType string, known []string) (all []string, ok bool) {
	dir := "/sys/fs/" + fsType + "/"
	if fsType != "btrfs" && fsType != "bcachefs" {
		return nil, false
	}
	ids, _ := s.block.t.Dir(dir)
	for _, id := range ids {
		list, _ := s.block.t.Dir(dir + id + "/devices")
		if fsType == "bcachefs" {
			for _, n := range numbered(s.block.t, dir+id, "dev-") {
				if link, err := readLink(s.block.t, fmt.Sprintf("%s%s/dev-%d/block", dir, id, n)); err == nil {
					list = append(list, path.Base(link))
				}
			}
		}
		if slices.ContainsFunc(list, func(n string) bool { return slices.Contains(known, n) }) {
			return list, true
		}
	}
	return nil, false
}

// sourceName turns /dev/mapper/vg-data or /dev/disk/by-uuid/... into the kernel's
// name, by the link or by the device-mapper name.
func (s *stack) sourceName(source string) string {
	if !strings.HasPrefix(source, "/dev/") {
		return ""
	}
	if resolved, err := (view{t: s.block.t}).resolve(source); err == nil && s.block.dir(path.Base(resolved)) != "" {
		return path.Base(resolved)
	}
	if mapped, ok := strings.CutPrefix(source, "/dev/mapper/"); ok {
		names, _ := s.block.t.Dir("/sys/block")
		for _, n := range names {
			if strings.HasPrefix(n, "dm-") && s.block.t.Text("/sys/block/"+n+"/dm/name").Or("") == mapped {
				return n
			}
		}
	}
	return path.Base(source)
}

// addOverlay goes on below the upper directory of an overlay, which takes all
// writes. In a container it is a path of the host; then only the place of
// Docker's own files tells: they lie in the same data directory.
func (s *stack) addOverlay(m mountTable, mnt *mount, depth int) {
	upper, ok := mnt.option("upperdir")
	if !ok {
		s.end("", "an overlay without an upper directory takes no writes")
		return
	}
	if !path.IsAbs(upper) {
		s.end("", "an overlay whose upper directory "+upper+" is relative to where it was mounted from")
		return
	}
	if below := m.dataMount(upper); below != nil {
		s.addMount(m, below, depth)
		return
	}
	own := view{s.block.t, "", m.path}
	if _, err := own.resolve(upper); err == nil && s.block.t.Exists(upper) {
		if below := m.find(upper); below != nil && below.id != mnt.id {
			s.addMount(m, below, depth)
			return
		}
	}
	s.end("", "an overlay whose upper directory "+upper+" lies outside of this container")
}

// dataMount finds the mount through which Docker shows a container its files
// <data>/containers/<id>/hostname, where <data> also holds the overlay's upper
// directory. The field root is relative to the file system, so it ends <data>.
func (m mountTable) dataMount(upper string) *mount {
	data, _, ok := strings.Cut(upper, "/overlay2/")
	if !ok {
		return nil
	}
	for i := range m.mounts {
		c := &m.mounts[i]
		if path.Dir(c.point) != "/etc" {
			continue
		}
		if at, _, ok := strings.Cut(c.root, "/containers/"); ok && strings.HasSuffix(data, at) {
			return c
		}
	}
	return nil
}

func (s *stack) class(source string) Fact[string] {
	if c := stackClass(s.classes); c != "" {
		return Known(c, "", source)
	}
	return Unknown[string](source, errors.New(cmp.Or(s.unknown, "the devices are not to be seen")))
}

// rawDevice stands for the type of the file system where there is none, as below
// a database that writes to a block device itself (Oracle ASM).
const rawDevice = "none (raw block device)"

// Raw reports whether the path asked about is a block device itself.
func (s Storage) Raw() bool { return s.FSType.Or("") == rawDevice }

// errNotHeld is what a recording says of a path that was not asked about when it was
// made: where it would lie is a guess.
var errNotHeld = errors.New("the recording does not hold it")

// blockNode returns the kernel's name of the block device that a path is; "" if
// it is a directory or a file, which stands for its directory. Any other kind of
// file is an error, since no log can lie there. A recording has no nodes, so
// there the names below /dev are looked up in sysfs.
func (s *stack) blockNode(v view, resolved string) (string, error) {
	if !v.t.Live() {
		if path.Dir(resolved) != "/dev" && !strings.HasPrefix(resolved, "/dev/mapper/") {
			return "", nil
		}
		if name := s.sourceName(resolved); s.block.dir(name) != "" {
			return name, nil
		}
		return "", nil
	}
	n, err := nodeOf(v.root + resolved)
	if err != nil {
		return "", &fs.PathError{Op: "stat", Path: resolved, Err: trust.Bare(err)}
	}
	switch {
	case n.mode.IsDir() || n.mode.IsRegular():
		return "", nil
	case n.mode&fs.ModeDevice != 0 && n.mode&fs.ModeCharDevice == 0:
		name := s.block.byNumber(n.number)
		if name == "" {
			return "", fmt.Errorf("/sys does not show the block device %s", n.number)
		}
		return name, nil
	}
	return "", fmt.Errorf("it is %s, which stores nothing", kindOfNode(n.mode))
}

// node is what a path of the machine itself is.
type node struct {
	mode   fs.FileMode
	owner  int
	number string // MAJ:MIN of a device
}

func kindOfNode(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeCharDevice != 0:
		return "a character device"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "neither a directory nor a file"
}

// held reports whether a recording tells anything of a path: it has it, or its
// attributes, or it is mounted there.
func (v view) held(resolved string, mnt *mount) bool {
	p := path.Clean(v.root + resolved)
	return v.t.Live() || mnt.point == resolved || v.t.Exists(p) || v.t.Exists(statxDir+p)
}

func (s *stack) rawStorage(asked, node, name string) Storage {
	s.add(name, 0)
	dir := s.block.dir(name)
	out := unknownStorage(asked, node, none("it is a block device, without a file system"))
	out.Resolved = Known(node, "", asked)
	out.FSType = Known(rawDevice, "", dir)
	out.Device = Known(node, "", dir)
	out.Class = s.class(classSource(s, dir))
	out.ReadOnly = s.block.t.Bool(dir + "/ro")
	out.Stack, out.Below = s.layers, append(out.Below, s.mounts...)
	return out
}
