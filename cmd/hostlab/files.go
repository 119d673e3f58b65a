package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// writeFile writes a file whole or not at all: beside it first, then renamed.
func writeFile(name string, write func(*os.File) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", name, plain(err))
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = fmt.Errorf("cannot write %s: %w", name, plain(err))
		}
	}()
	if err = write(f); err != nil {
		return err
	}
	// CreateTemp makes files that only their owner can read; a report is to be shared.
	if err = f.Chmod(0o644); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// checkWritable says early, before a minute of measuring, that a file cannot be
// written. It writes nothing itself.
func checkWritable(flag, name string) error {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return usagef("--%s %s is a directory; name a file in it", flag, name)
	}
	dir := filepath.Dir(name)
	info, err := os.Stat(dir)
	if err != nil {
		return usagef("--%s %s: %s: %w", flag, name, dir, plain(err))
	}
	if !info.IsDir() {
		return usagef("--%s %s: %s is not a directory", flag, name, dir)
	}
	if err := accessDir(dir); err != nil {
		return usagef("--%s %s: cannot write in %s: %w", flag, name, dir, err)
	}
	return nil
}
