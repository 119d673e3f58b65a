package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"hostlab/internal/lockfile"
	"hostlab/internal/result/store"
	"hostlab/internal/setting"
	"hostlab/internal/trust"
)

// registryAt is where the experiments of this user are registered that change a service which others use;
// "": beside the journal of the settings. Tests have their own.
var registryAt = ""

func registry(made bool) (store.Registry, error) {
	if registryAt != "" {
		return store.Registry(registryAt), nil
	}
	dir, err := setting.TrustedDir(made) // commands of the records are run
	return registryBelow(dir), err
}

func registryBelow(dir string) store.Registry { return store.Registry(filepath.Join(dir, "live")) }

// Left is a live experiment that has ended without putting everything back, as a power cut ends it.
type Left struct {
	store.Registered
	Factors []string
	Unknown error // why it is not known what is changed; nil: it is
	Ours    bool  // this user's
}

// Leftovers lists what live experiments of this user and of root have left. One that runs has left nothing.
func Leftovers() (list []Left, err error) {
	own, err := registry(false)
	if err != nil {
		return nil, err
	}
	for _, r := range []store.Registry{own, registryBelow(setting.MachineDir)} {
		found, err := r.List(false)
		if err != nil && r == own {
			return nil, err
		}
		for _, e := range found { // root's are for all to see, where they may
			l := leftBy(e)
			if l == nil {
				continue
			}
			if _, runs := Running(); runs && r != own { // another user's lock cannot be asked, but one that runs is known
				continue
			}
			l.Ours = r == own
			list = append(list, *l)
		}
		if r == registryBelow(setting.MachineDir) {
			break // root's own
		}
	}
	return list, nil
}

// leftBy is nil where nothing is left.
func leftBy(e store.Registered) *Left {
	l := &Left{Registered: e}
	root, err := trust.Directory(e.Dir)
	if err == nil {
		running := lockfile.Held(root, store.LockFile)
		root.Close()
		if running {
			return nil
		}
	}
	r, err := store.Load(e.Dir)
	switch {
	case err != nil:
		l.Unknown = err
		return l
	case r.Experiment.ID != e.ID:
		l.Unknown = fmt.Errorf("%s %w of that name", e.Dir, store.ErrNone)
		return l
	}
	for _, c := range r.Changed() {
		l.Factors = append(l.Factors, c.Factor)
	}
	if len(l.Factors) == 0 {
		return nil
	}
	return l
}

// Registered lists the live experiments of this user that may have something changed, also one that runs.
func Registered() ([]store.Registered, error) {
	r, err := registry(false)
	if err != nil {
		return nil, err
	}
	return r.List(true)
}

// Forget takes a live experiment out of what is registered.
func Forget(id string) error {
	r, err := registry(false)
	if err != nil {
		return err
	}
	return r.Remove(id)
}

// Gone reports the error of a record that is not there any more.
func Gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, store.ErrNone) }
