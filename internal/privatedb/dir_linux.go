package privatedb

import (
	crand "crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"hostlab/internal/trust"
)

// Place is a directory of ours, locked as long as we live: the kernel drops a flock
// with its process, however that ends, so that the next start knows what nobody uses
// any more. Only we can enter it; what the server needs lies within and is its.
//
// It is held open with its parent, and all that is done to it is done through these: its
// name may be another directory's by then.
type Place struct {
	Path   string // absolute, for messages and for other programs
	vendor *Vendor
	parent *os.Root
	dir    *os.Root
	lock   *os.File // the directory itself
}

// NewPlace makes one in parent, named after the vendor and this process: users see the
// name, so it says whose it is. Between making and locking it another process may
// take it for a dead one's and remove it: then another is made.
func (v *Vendor) NewPlace(parent string) (*Place, error) {
	refused := trust.AsRoot(parent)
	in, err := os.OpenRoot(parent)
	if err != nil {
		return nil, v.CannotMake(parent, err)
	}
	// What is removed in the end, and whose processes are ended, has to be what was made.
	if refused != nil {
		in.Close()
		return nil, refused
	}
	for range 100 {
		name := fmt.Sprintf("%s%d-%s", v.prefix, os.Getpid(), strings.ToLower(crand.Text()[:8]))
		err := in.Mkdir(name, 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			in.Close()
			return nil, v.CannotMake(parent, err)
		}
		p, err := v.open(in, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			err = errors.Join(v.CannotMake(parent, err), in.Remove(name))
			in.Close()
			return nil, err
		}
		// Where there are no locks nobody else gets one either, and nobody removes
		// what he cannot lock.
		_ = unix.Flock(int(p.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if p.named() {
			return p, nil
		}
		p.letGo()
	}
	in.Close()
	return nil, v.CannotMake(parent, errors.New("no name was free"))
}

// open holds the directory of ours that has a name in parent, and follows no link.
func (v *Vendor) open(parent *os.Root, name string) (*Place, error) {
	dir, f, err := openDir(parent, name)
	if err != nil {
		return nil, err
	}
	if err := trust.Ours(f); err != nil {
		dir.Close()
		f.Close()
		return nil, err
	}
	return &Place{Path: filepath.Join(parent.Name(), name), vendor: v, parent: parent, dir: dir, lock: f}, nil
}

// openDir opens a directory that has its name in parent itself.
func openDir(parent *os.Root, name string) (*os.Root, *os.File, error) {
	dir, err := trust.Below(parent, name)
	if err != nil {
		return nil, nil, err
	}
	f, err := dir.Open(".")
	if err != nil {
		dir.Close()
		return nil, nil, err
	}
	return dir, f, nil
}

// named reports whether the place has its name still.
func (p *Place) named() bool {
	open, err := p.lock.Stat()
	if err != nil {
		return false
	}
	named, err := p.parent.Lstat(filepath.Base(p.Path))
	return err == nil && os.SameFile(named, open)
}

// letGo closes the directory, and leaves the parent open.
func (p *Place) letGo() {
	p.dir.Close()
	p.lock.Close()
}

// CannotMake says in one line that parent takes no directory of ours.
func (v *Vendor) CannotMake(parent string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf(
		"%s needs a directory of its own in %s, and that cannot be made: %w; choose another with TMPDIR, or for a "+
			"study with --out", v.Product, parent, err)
}

// Sub makes a directory of the account's within and opens it.
func (p *Place) Sub(name string, a Account) (*os.File, error) {
	v := p.vendor
	if err := p.dir.Mkdir(name, 0o700); err != nil {
		return nil, v.CannotMake(p.Path, err)
	}
	dir, f, err := openDir(p.dir, name)
	if err != nil {
		return nil, v.CannotMake(p.Path, err)
	}
	dir.Close()
	if err := v.give(f, a); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Remove ends what still runs in it, and removes everything. The lock goes last.
func (p *Place) Remove() error {
	defer p.parent.Close()
	defer p.letGo()
	var err error
	if data, f, derr := openDir(p.dir, dataName); derr == nil {
		var more func()
		if p.vendor.leftover != nil {
			more = p.vendor.leftover(data)
		}
		err = p.vendor.endInside(f)
		if more != nil {
			more()
		}
		data.Close()
		f.Close()
	}
	// Twice: a process that was just ended may have made a file meanwhile.
	if rerr := p.empty(); rerr != nil {
		if rerr = p.empty(); rerr != nil {
			return errors.Join(err, fmt.Errorf("cannot remove the directory of %s: %w; remove it by hand", p.vendor.Product,
				rerr))
		}
	}
	if !p.named() {
		return errors.Join(err,
			fmt.Errorf("the directory of %s was emptied, but %s is another one by now; look for an empty "+
				"directory near it and remove it by hand", p.vendor.Product, p.Path))
	}
	return errors.Join(err, p.parent.Remove(filepath.Base(p.Path)))
}

// empty removes what is in the directory that is held, whatever its name.
func (p *Place) empty() error {
	entries, err := fs.ReadDir(p.dir.FS(), ".")
	for _, e := range entries {
		err = errors.Join(err, p.dir.RemoveAll(e.Name()))
	}
	return err
}

// Sweep removes the places in parent whose owner is dead. A command that was killed
// has left them in a directory beside parent, where both are temporary ones.
func (v *Vendor) Sweep(parent string) {
	v.sweepIn(parent)
	const temporary = "hostlab-"
	if !strings.HasPrefix(filepath.Base(parent), temporary) {
		return
	}
	siblings, err := filepath.Glob(filepath.Join(filepath.Dir(parent), temporary+"*"))
	if err != nil {
		return // the path has a character that patterns give a meaning
	}
	for _, dir := range siblings {
		if dir != parent && v.sweepIn(dir) {
			os.Remove(dir) // fails unless it is empty
		}
	}
}

// sweepIn does nothing where another user decides what the names stand for: they may be
// planted, or a directory of ours renamed to one.
func (v *Vendor) sweepIn(parent string) (found bool) {
	parent, err := trust.Holder(parent)
	if err != nil {
		return false // NewPlace says why
	}
	entries, err := os.ReadDir(parent)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), v.prefix) && e.IsDir() {
			found = v.sweepOne(parent, e.Name()) || found
		}
	}
	return found
}

// sweepOne touches only directories of this user: a name in /tmp may be planted.
func (v *Vendor) sweepOne(parent, name string) bool {
	in, err := os.OpenRoot(parent)
	if err != nil {
		return false
	}
	p, err := v.open(in, name)
	if err != nil {
		in.Close()
		return false
	}
	if unix.Flock(int(p.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		p.letGo()
		in.Close()
		return false
	}
	return p.Remove() == nil
}

// move makes a place in parent with a copy of the log in from, whose server has ended.
// The files are synced, so that the server's first commit does not pay for them. What is
// neither a file nor a directory stays behind. When it fails the new place is gone again.
func (v *Vendor) move(from *Place, parent string, a Account) (_ *Place, _ *os.File, err error) {
	v.Sweep(parent)
	to, err := v.NewPlace(parent)
	if err != nil {
		return nil, nil, err
	}
	dir, err := to.Sub(logName, a)
	if err == nil {
		if err = copyTree(from, to, a); err == nil {
			return to, dir, nil
		}
		dir.Close()
		err = fmt.Errorf("the log of %s cannot be moved to %s: %w", v.Product, parent, err)
	}
	return nil, nil, errors.Join(err, to.Remove())
}

// copyTree follows no link: the files are the account's, and we may be root.
func copyTree(from, to *Place, a Account) error {
	in, err := trust.Below(from.dir, logName)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := trust.Below(to.dir, logName)
	if err != nil {
		return err
	}
	defer out.Close()
	return fs.WalkDir(in.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || path == ".":
			return err
		case e.IsDir():
			err = out.Mkdir(path, 0o700)
		case e.Type().IsRegular():
			err = copyFile(in, out, path, a)
		default:
			return nil
		}
		if err == nil && a.Other {
			err = out.Lchown(path, a.UID, a.GID)
		}
		return err
	})
}

// copyFile gives the account the text of files of its own only: another name (a hard link)
// of a file that it may not read is not one.
func copyFile(in, out *os.Root, path string, a Account) (err error) {
	r, err := trust.OpenFile(in, path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != a.UID {
		return &trust.Refused{Path: path, Why: "does not belong to " + a.Name}
	}
	w, err := out.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if _, err := io.Copy(w, r); err != nil {
		return err
	}
	return w.Sync()
}
