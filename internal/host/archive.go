package host

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"hostlab/internal/trust"

	"golang.org/x/tools/txtar"
)

// The most of a recorded machine: one with 512 CPUs has some 60,000 members. Each becomes a
// file, with the directories above it.
const (
	maxMembers = 200_000
	maxBelow   = 24
)

// ExtractArchive writes a recorded machine, a txtar archive, into dir, which
// must exist. Member names are paths below the machine's root:
//
//	sys/block/sda -> ../devices/sda    a symbolic link, of no content
//	proc/1/                            an empty directory
//	dev/mem                            with content "!errno EACCES": a file
//	                                   whose reading failed so
//
// A link to an absolute path means one below the machine's root, and is written
// as a relative one. Names and links that lead out of dir are refused.
func ExtractArchive(data []byte, dir string) error {
	if bytes.Count(data, []byte("\n-- ")) > maxMembers { // before they take memory
		return fmt.Errorf("it has more than %d members; no recorded machine has so many", maxMembers)
	}
	a := txtar.Parse(data)
	if len(a.Files) == 0 {
		return errors.New("not a recorded machine, as 'hostlab facts --save' and 'hostlab assess --save' write them")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	into := folder{root: root}
	defer into.close()
	links := []string{}
	for _, f := range a.Files {
		name, target, isLink := strings.Cut(f.Name, " -> ")
		isDir := strings.HasSuffix(name, "/")
		name = strings.TrimSuffix(strings.TrimPrefix(name, "./"), "/")
		if !fs.ValidPath(name) || name == "." {
			return fmt.Errorf("member %s: expected a path below the root, without \"..\"", clip(f.Name))
		}
		if strings.Count(name, "/") > maxBelow {
			return fmt.Errorf("member %s: lies below more than %d directories", clip(f.Name), maxBelow)
		}
		switch {
		case isLink:
			links = append(links, name)
			err = addLink(root, name, target)
		case isDir:
			err = root.MkdirAll(name, 0o755)
		default:
			err = into.addFile(name, f.Data)
		}
		if err != nil {
			return fmt.Errorf("member %s: %w", clip(f.Name), err)
		}
	}
	for _, name := range links {
		// The root follows links and refuses to leave; one that leads nowhere, or
		// in a circle, is as harmless here as it was on the machine.
		if _, err := root.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) && leaves(err) {
			return fmt.Errorf("member %s: the link leads out of the archive", clip(name))
		}
	}
	return nil
}

// leaves tells os.Root's refusal, which has no exported value, from errors of
// the system, which are all syscall.Errno.
func leaves(err error) bool {
	_, system := trust.Bare(err).(interface{ Timeout() bool })
	return err != nil && !system
}

// folder is the directory of the file that was written last. Files mostly come one directory after the other, and
// a way from the root takes a call for each part of it.
type folder struct {
	root, open *os.Root
	name       string
}

func (d *folder) close() {
	if d.open != nil {
		d.open.Close()
	}
}

func (d *folder) addFile(name string, data []byte) error {
	if dir := path.Dir(name); d.open == nil || d.name != dir {
		if err := d.root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		open, err := d.root.OpenRoot(dir)
		if err != nil {
			return err
		}
		d.close()
		d.open, d.name = open, dir
	}
	f, err := d.open.OpenFile(path.Base(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if _, err = f.Write(data); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func addLink(root *os.Root, name, target string) error {
	up := strings.Count(name, "/")
	if path.IsAbs(target) {
		target = cmp.Or(strings.Repeat("../", up)+strings.TrimLeft(path.Clean(target), "/"), ".")
	}
	if target == "" || len(target) > 4096 {
		return errors.New("expected a target after ->")
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	return root.Symlink(target, name)
}
