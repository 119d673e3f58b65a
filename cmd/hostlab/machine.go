package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/spf13/cobra"

	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/trust"
)

// largestRecording bounds what is read as one: that of a 512-CPU host has 5 MB.
const largestRecording = 128 << 20

// machine is where facts come from: this host, or a recording of another.
type machine struct {
	root  string
	in    func() io.Reader // that is read where root is "-"
	flag  string           // that names the recording; "" is --root
	paths []string
}

// name is the recording as it was asked for.
func (m *machine) name() string { return cmp.Or(m.flag, "--root") + " " + m.root }

func (m *machine) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&m.root, "root", "",
		"read a recorded machine instead of this one: a directory tree, a .txtar file of 'facts --save', or a .json file of 'facts "+
			"--format json'; - reads such a file from standard input")
	m.in = cmd.InOrStdin
	cobra.CheckErr(cmd.MarkFlagFilename("root", "txtar", "json"))
}

// open returns the machine's tree. close removes what had to be unpacked.
func (m *machine) open() (tree host.Tree, close func(), err error) {
	close = func() {}
	if m.root == "" {
		return host.Tree{}, close, nil
	}
	if tree.Foreign() {
		return tree, close, usagef(
			"%s: a recording is a tree with links and names such as 0000:00:04.0, which Windows' file systems "+
				"do not take; use hostlab on Linux (WSL will do)", m.name())
	}
	if m.root == "-" {
		data, err := io.ReadAll(trust.Reader(m.in(), largestRecording))
		switch {
		case err != nil:
			return tree, close, usagef("%s: %w", m.name(), plain(err))
		case len(data) == 0:
			return tree, close, usagef("%s: standard input is empty; did the command before the pipe fail?", m.name())
		}
		return m.unpack(data)
	}
	info, err := os.Stat(m.root)
	if err != nil {
		return tree, close, usagef("%s: %w", m.name(), plain(err))
	}
	root, err := filepath.Abs(m.root)
	if err != nil {
		return tree, close, err
	}
	if info.IsDir() {
		return host.Tree{Root: root}, close, ofLinux(os.DirFS(root), m.name())
	}
	if !info.Mode().IsRegular() || info.Size() > largestRecording {
		return tree, close, usagef("%s: expected a directory, or a recording of at most %s", m.name(),
			result.Format(largestRecording, "B"))
	}
	data, err := trust.ReadFile(root, largestRecording)
	if err != nil {
		return tree, close, usagef("%s: %w", m.name(), plain(err))
	}
	return m.unpack(data)
}

// unpack is open of a recording's content.
func (m *machine) unpack(data []byte) (tree host.Tree, close func(), err error) {
	if err := trust.AsRoot(os.TempDir()); err != nil {
		return tree, func() {}, usagef("TMPDIR: %w", err)
	}
	dir, err := os.MkdirTemp("", "hostlab-root-")
	if err != nil {
		return tree, func() {}, err
	}
	close = func() { os.RemoveAll(dir) }
	if err := host.ExtractArchive(data, dir); err != nil {
		close()
		return tree, func() {}, usagef("%s: %w", m.name(), err)
	}
	if err := ofLinux(os.DirFS(dir), m.name()); err != nil {
		close()
		return tree, func() {}, err
	}
	return host.Tree{Root: dir}, close, nil
}

// ofLinux refuses a tree with more CPUs than a kernel knows: each is asked some fifty
// questions.
func ofLinux(tree fs.FS, name string) error {
	const dir = "sys/devices/system/cpu"
	if info, err := fs.Stat(tree, dir); err != nil || !info.IsDir() {
		return nil // what is not there is absent
	}
	d, err := tree.Open(dir)
	if err != nil {
		return nil // and what may not be read says so itself
	}
	defer d.Close()
	list, ok := d.(fs.ReadDirFile)
	if !ok {
		return nil
	}
	if names, _ := list.ReadDir(host.MostCPUs + 1); len(names) > host.MostCPUs {
		return usagef("%s: sys/devices/system/cpu has more than %d entries; no kernel has so many CPUs", name, host.MostCPUs)
	}
	return nil
}

// inspectable is open of a machine on which there is something to inspect.
func (m *machine) inspectable() (tree host.Tree, done func(), err error) {
	if tree, done, err = m.open(); err != nil {
		return tree, done, err
	}
	if err = m.look(tree); err != nil {
		done()
	}
	return tree, done, err
}

// collect reads all facts of the machine. Purpose says what the paths are.
func (m *machine) collect(ctx context.Context, purpose string) (*host.Facts, error) {
	defer spared()()
	if filepath.Ext(m.root) == ".json" {
		return m.printed(purpose)
	}
	tree, done, err := m.inspectable()
	if err != nil {
		return nil, err
	}
	defer done()
	paths, err := m.asked(tree, purpose)
	if err != nil {
		return nil, err
	}
	var asked []host.PathQuery
	for _, p := range paths {
		asked = append(asked, host.PathQuery{Path: p, Purpose: purpose})
	}
	f := host.Collect(ctx, host.Options{Tree: tree, Paths: asked})
	return f, ctx.Err()
}

// sparing is false in tests: several commands of one process would put back each other's limit, and leave it in force.
var sparing = true

// spared has the garbage of a collection, some megabytes in milliseconds, collected only where it grows: that took a
// fifth of the time of 'hostlab check'. The result ends it.
func spared() func() {
	if !sparing {
		return func() {}
	}
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(64<<20)
	return func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(limit) }
}

// printed reads facts that were printed as JSON, as a host that does not run Linux hands them over.
func (m *machine) printed(flag string) (*host.Facts, error) {
	if len(m.paths) > 0 {
		return nil, usagef("%s holds the facts of its paths; leave --%s out", m.name(), flag)
	}
	b, err := trust.ReadFile(m.root, largestRecording)
	if err != nil {
		return nil, usagef("%s: %w", m.name(), plain(err))
	}
	f, err := host.Read(b)
	if err != nil {
		return nil, usagef("%s: %w", m.name(), err)
	}
	return f, nil
}

// look reports a tree without anything to inspect. Of a recording it names the
// file that was given, not where that was unpacked.
func (m *machine) look(tree host.Tree) error {
	err := host.Look(tree)
	switch {
	case err == nil:
		return nil
	case m.root != "":
		return cannotLook{fmt.Errorf("%s holds neither /proc nor /sys of a machine; is it whole, and a recording of 'facts "+
			"--save'?", m.name())}
	}
	return cannotLook{err}
}

// asked returns the paths that were asked about, absolute. On this machine they
// must be there.
func (m *machine) asked(tree host.Tree, flag string) ([]string, error) {
	var out []string
	for _, p := range m.paths {
		abs, err := filepath.Abs(p)
		if err != nil {
			return nil, err
		}
		if tree.Live() {
			// A server that is gone is a fact to report, not a wrong argument.
			if _, err := host.Stat(abs); err != nil && !errors.Is(err, host.ErrNoAnswer) {
				return nil, usagef("--%s %s: %w", flag, p, plain(err))
			}
		}
		out = append(out, abs)
	}
	return out, nil
}

// plain drops operation and path from an os error, for lines that name the path.
func plain(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
