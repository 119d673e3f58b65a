package setting

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
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
	if j.problem.Kind != OtherHost {
		j.st.damage = j.problem.Found()
		if kept != "" {
			j.st.damage += ". As it was it is kept as " + kept
		}
	}
	if j.st.none() {
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

// keep copies the journal beside itself, under a name that is free. One that is gone has no copy, and no name.
func (j *Journal) keep() (string, error) {
	b, err := j.sys.Disk.ReadFile(j.path())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
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
// are. For all owners it drops what is known of damage as well. A journal with a problem is set aside as a
// whole, for any owner: it is kept beside the new one, under the name that is returned.
func (j *Journal) Forget(owner string) (kept string, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.problem != nil {
		if kept, err = j.keep(); err != nil {
			return "", err
		}
		j.st = newState()
		if err := j.clear(); err != nil {
			return kept, err
		}
		j.problem = nil
		return kept, nil
	}
	if owner == "" {
		j.st.damage = ""
	}
	var layers []int
	for _, o := range j.st.open() {
		for _, l := range o.Layers {
			if owner == "" || l.Owner == owner {
				layers = append(layers, l.ID)
			}
		}
	}
	return "", j.drop(layers, false)
}

// drop removes layers, and the file with the last of them.
func (j *Journal) drop(layers []int, pass bool) error {
	if len(layers) > 0 {
		slices.Sort(layers)
		dropped := &record{Kind: "drop", Layers: layers, Pass: pass}
		if err := j.append(true, dropped); err != nil {
			// The disk may be full: what all is put back needs no line that says so.
			if e := j.st.apply(dropped); e != nil || !j.st.none() {
				return err
			}
		}
	}
	if j.exists && j.st.none() { // also an intent that came to nothing
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
		err = j.drop(nil, false)
	}
	return errors.Join(err, j.Close())
}
