package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"hostlab/internal/check"
	"hostlab/internal/trust"
)

// exceptionsFile is read where none is named, if it is there.
const exceptionsFile = "/etc/hostlab/exceptions.toml"

// largestExceptions bounds the file: a thousand exceptions of some hundred bytes.
const largestExceptions = 1 << 20

// unnamed is the name of a host that has none, to patterns of exceptions.
const unnamed = "unknown host"

// exceptions is where accepted findings are read from.
type exceptions struct{ file string }

func (e *exceptions) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&e.file, "exceptions", "",
		"`FILE` of findings that you accept, each with a reason and a last day (default: that of config.toml, or "+
			exceptionsFile+", if it exists)")
	cobra.CheckErr(cmd.MarkFlagFilename("exceptions", "toml"))
}

// read returns the exceptions. A file that another user could have written is refused: it would hide findings.
func (e *exceptions) read() ([]check.Exception, error) {
	name, flag := e.file, "--exceptions"
	if name == "" {
		flag = "exceptions" // of a configuration, or the usual file
		c, err := readConfig()
		if err != nil {
			return nil, err
		}
		name = c.Exceptions
	}
	usual := name == ""
	if usual {
		name = exceptionsFile
	}
	data, err := readTrusted(name)
	refused, is := errors.AsType[*trust.Refused](err)
	switch {
	case is && refused.Path == name: // which it names
		return nil, usagef("%s %w", flag, refused)
	case usual && errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, usagef("%s %s: %w", flag, name, plain(err))
	}
	list, err := check.ReadExceptions(data)
	if err != nil {
		return nil, usagef("%s %s: %w", flag, name, err)
	}
	return list, nil
}

func readTrusted(name string) ([]byte, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(abs); err != nil {
		return nil, err
	}
	if err := trust.AsRoot(filepath.Dir(abs)); err != nil {
		return nil, err
	}
	f, err := trust.OpenRegular(abs)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := trust.Ours(f); err != nil {
		return nil, err
	}
	return trust.File(f, largestExceptions)
}
