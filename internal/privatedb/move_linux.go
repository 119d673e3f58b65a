package privatedb

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"hostlab/internal/trust"
)

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
