package setting

import (
	"errors"
	"fmt"
	"io/fs"
)

// Accept takes what could be read of a journal with a problem as this machine's. The
// file itself is kept beside the new one, under the name that is returned.
func (j *Journal) Accept() (kept string, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.problem == nil {
		return "", nil
	}
	kept, err = j.keep()
	if err != nil {
		return "", err
	}
	if len(j.st.objects) == 0 {
		err = j.clear()
	} else {
		err = j.rewrite()
	}
	if err != nil {
		return kept, err
	}
	j.problem = nil
	return kept, nil
}

// keep copies the journal beside itself, under a name that is free.
func (j *Journal) keep() (string, error) {
	b, err := j.sys.Disk.ReadFile(j.path())
	if err != nil {
		return "", fmt.Errorf("cannot read the journal %s: %w", j.path(), pathless{err})
	}
	name := j.path() + "." + j.sys.Now().UTC().Format("20060102T150405")
	for n := 1; ; n++ {
		if _, err := j.sys.Disk.ReadFile(name); errors.Is(err, fs.ErrNotExist) {
			break
		}
		name = fmt.Sprintf("%s.%s-%d", j.path(), j.sys.Now().UTC().Format("20060102T150405"), n)
	}
	if err := j.store(name, b); err != nil {
		return "", err
	}
	return name, nil
}

// store writes a file in the journal's directory and makes it durable.
func (j *Journal) store(name string, b []byte) error {
	err := j.sys.Disk.Append(name, b)
	if err == nil {
		err = j.sys.Disk.Sync(name)
	}
	if err == nil {
		err = j.sys.Disk.Sync(j.dir)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", name, pathless{err})
	}
	return nil
}

// Forget drops the open entries of an owner ("" all) and leaves the values as they
// are. A journal with a problem is set aside as a whole, for any owner: it is kept beside
// the new one, under the name that is returned.
func (j *Journal) Forget(owner string) (kept string, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.problem != nil {
		if kept, err = j.keep(); err != nil {
			return "", err
		}
		if err := j.clear(); err != nil {
			return kept, err
		}
		j.problem = nil
		return kept, nil
	}
	var paths []string
	for _, o := range j.st.open() {
		if owner == "" || o.Owner == owner {
			paths = append(paths, o.Path)
		}
	}
	return "", j.drop(paths)
}

// drop removes objects, and the file with the last of them.
func (j *Journal) drop(paths []string) error {
	if len(paths) > 0 {
		dropped := &drop{paths}
		if err := j.append(true, dropped); err != nil {
			// The disk may be full: what all is put back needs no line that says so.
			if e := dropped.apply(j.st); e != nil || len(j.st.objects) > 0 {
				return err
			}
		}
	}
	if j.exists && len(j.st.objects) == 0 { // also an intent that came to nothing
		return j.clear()
	}
	return nil
}

// Tidy removes a journal in which nothing is open, as a kill leaves one between the first line and
// the first write, or between the last line and its removal. One that is in use is left.
func (v *View) Tidy() error {
	if !v.exists {
		return nil
	}
	j, err := OpenJournal(v.sys, v.dir)
	if err != nil {
		return err
	}
	if j.problem == nil {
		err = j.drop(nil)
	}
	return errors.Join(err, j.Close())
}
