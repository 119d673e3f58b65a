package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hostlab/internal/document"
	"hostlab/internal/screen"
	"hostlab/internal/setting"
	"hostlab/internal/trust"
)

// printing is in which forms a command prints its document, and where. It declares --format and --out for all commands,
// and opens the files.
type printing struct {
	format string
	outs   []string
	forms  []string    // that the command has; the first is the usual one
	given  func() bool // whether --format was
	stdout bool        // its only place: the command's --out is something else
	ending string      // of files of the first form, beside that of all commands
	wrote  func(file string)
}

// endings of files name their form where --format does not.
var endings = map[string]string{".txt": "text", ".json": "json", ".html": "html", ".htm": "html", ".md": "markdown",
	".csv": "csv"}

// documentForms are those of every document, tableForms those of one that has rows, and sourceForms those of files for
// other programs.
var (
	sourceForms   = []string{"text", "json"}
	documentForms = names(document.Formats, func(f document.Format) string { return f.Name })
	tableForms    = append(slices.Clone(documentForms), "csv")
)

// flags declares both flags. What cannot be written is refused before the command begins.
func (p *printing) flags(cmd *cobra.Command, std streams, forms []string) {
	p.forms = forms
	choiceFlag(cmd, &p.format, "format", forms[0], "output", forms)
	p.given = func() bool { return cmd.Flags().Changed("format") }
	p.wrote = func(file string) { wrote(cmd, std, file) }
	cmd.PreRunE = func(*cobra.Command, []string) error { return p.check(std) }
	if p.stdout {
		return
	}
	cmd.Flags().StringArrayVarP(&p.outs, "out", "o", nil,
		"write to `FILE` (- for stdout; may be repeated); its ending, such as .html or .json, names the format where "+
			"--format does not")
	cobra.CheckErr(cmd.MarkFlagFilename("out"))
}

func (p *printing) form(file string) string {
	if end := p.named(file); end != "" && (p.given == nil || !p.given()) {
		return end
	}
	return p.format
}

// named is the form that a file's ending names; "": none.
func (p *printing) named(file string) string {
	end := strings.ToLower(filepath.Ext(file))
	if p.ending != "" && end == p.ending {
		return p.forms[0]
	}
	return endings[end]
}

func (p *printing) places() []string {
	if len(p.outs) == 0 {
		return []string{"-"}
	}
	return p.outs
}

func (p *printing) check(std streams) error {
	tty, _ := terminal(std.out)
	seen := map[string]bool{}
	for _, file := range p.places() {
		form := p.form(file)
		end := filepath.Ext(file)
		switch {
		case len(end) > 1 && p.named(file) == "" && !p.given():
			return usagef("--out %s: no format has the ending %s; name one with --format", file, end)
		case seen[filepath.Clean(file)]:
			return usagef("--out names %s twice", file)
		case !slices.Contains(p.forms, form):
			return usagef("--out %s: this command prints %s; name one with --format", file, strings.Join(p.forms, ", "))
		case tty && file == "-" && form == "html":
			to := "name a file, as in --out page.html"
			if p.stdout {
				to = "write it to a file, as in > page.html"
			}
			return usagef("a page is not for a terminal; %s", to)
		}
		if err := checkWritable("out", file); err != nil {
			return err
		}
		seen[filepath.Clean(file)] = true
	}
	return nil
}

// print prints a document wherever it was asked for.
func (p *printing) print(std streams, d *document.Document) error {
	return p.each(std, func(w io.Writer, form string) error { return writeDocument(w, d, form) })
}

// each calls what writes one form. A file that cannot be written keeps no other from being written.
func (p *printing) each(std streams, write func(w io.Writer, form string) error) error {
	var errs []error
	for _, file := range p.places() {
		name, err := output(std, file, func(w io.Writer) error { return write(w, p.form(file)) })
		if name != "" && p.wrote != nil {
			p.wrote(name)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// writeDocument writes a document in one form, as wide as the writer.
func writeDocument(w io.Writer, d *document.Document, form string) error {
	if form == "csv" {
		t := d.FirstTable()
		if t == nil {
			return errors.New("there is no table to write as CSV; --format json has all")
		}
		return document.WriteCSV(w, t)
	}
	d.Footer = cmp.Or(d.Footer, "hostlab "+versionText())
	i := max(0, slices.Index(documentForms, form)) // "" is the first, text
	return document.Formats[i].Write(w, d, layout(w))
}

// wrote says on a terminal where a document went, which would else show nothing. Scripts and logs have the status.
func wrote(cmd *cobra.Command, std streams, file string) {
	if tty, _ := terminal(std.err); tty && file != "" {
		fmt.Fprintln(notes(cmd, std), "hostlab: wrote "+screen.Clean(file))
	}
}

// writeScreen prints a document that fits a screen, in its columns wherever it goes.
func writeScreen(w io.Writer, d *document.Document) error {
	o := layout(w)
	o.Width = min(o.Width, widest)
	return document.WriteText(w, d, o)
}

// layout is how text is laid out for w.
func layout(w io.Writer) document.TextOptions {
	tty, width := terminal(w)
	o := document.TextOptions{Width: width, Color: colour(w)}
	if tty {
		o.Rows, o.Folds = size(w)
	}
	return o
}

// output writes a file, or standard output, and returns the file's name, or "".
func output(std streams, name string, write func(io.Writer) error) (string, error) {
	switch name {
	case "":
		return "", nil
	case "-":
		return "", write(std.out)
	}
	if err := trust.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return "", fmt.Errorf("cannot write %s: %w", name, plain(err))
	}
	if err := writeFile(name, func(f *os.File) error { return write(f) }); err != nil {
		return "", err
	}
	return name, nil
}

// strict is --exit-status: with it a verdict is a status, as with 'git diff --exit-code'. Without it 0 means done.
type strict bool

func (s *strict) flag(cmd *cobra.Command, usage string) {
	cmd.Flags().BoolVar((*bool)(s), "exit-status", false, usage)
}

// verdict is how a command ends that has printed all; 0 is none.
func (s strict) verdict(status int) error {
	if !s || status == exitOK {
		return nil
	}
	return verdictStatus{status}
}

// verdictStatus ends a command that has printed all: only the status is left to say.
type verdictStatus struct{ status int }

func (v verdictStatus) Error() string { return fmt.Sprintf("verdict: status %d", v.status) }

// quiet reports --quiet: no progress and no notes.
func quiet(cmd *cobra.Command) bool {
	q, err := cmd.Flags().GetBool("quiet")
	return err == nil && q
}

// notes are where a command writes what it says beside its answer.
func notes(cmd *cobra.Command, std streams) io.Writer {
	if quiet(cmd) {
		return io.Discard
	}
	return std.err
}

// openNamed opens a file to read that the user names. Only a regular one is read: a FIFO may be waited for without
// end, and to open a device can do something. What stands for a descriptor of our own, as /dev/stdin does, is read as
// it is.
func openNamed(name string) (*os.File, error) {
	if n, is := descriptor(name); is {
		return os.NewFile(n, name), nil
	}
	return trust.Open(name)
}

// descriptor is that of our own which a name stands for, as a shell writes them for <(command).
func descriptor(name string) (fd uintptr, is bool) {
	if name == "/dev/stdin" {
		return 0, true
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(name))
	if err != nil || dir != fmt.Sprintf("/proc/%d/fd", os.Getpid()) {
		return 0, false
	}
	n, err := strconv.ParseUint(filepath.Base(name), 10, 31)
	return uintptr(n), err == nil
}

// writeFile writes a file whole or not at all: beside it first, then renamed. A link of
// ours is written through, and what is not a file, such as a device or a pipe, is written to:
// renaming over it would replace it. Another user's link is refused: it may lead anywhere.
func writeFile(name string, write func(*os.File) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot write %s: %w", name, plain(err))
		}
	}()
	to, err := trust.NewOutput(name)
	if err != nil {
		return err
	}
	defer to.Close()
	if to.Stream() {
		f, err := to.Open()
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	// A report is to be shared as any new file is, and one that was there keeps its mode.
	dir, base, mode := to.Dir, to.Name, 0o666&^umask()
	if was, err := ours(dir, base); err == nil {
		mode = was.Mode().Perm()
	}
	tmp := fmt.Sprintf(".%s.%08x", base, rand.Uint32())
	f, err := dir.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			_ = dir.Remove(tmp)
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Chmod(mode); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return dir.Rename(tmp, base)
}

// ours is a file that no other user has put there, or may write to.
func ours(dir *os.Root, name string) (fs.FileInfo, error) {
	f, err := trust.OpenFile(dir, name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := trust.Ours(f); err != nil {
		return nil, err
	}
	return f.Stat()
}

// checkWritable says early, before a minute of measuring, that a file cannot be
// written. It writes nothing itself. No name, and - for stdout, are no files.
func checkWritable(flag, name string) error {
	if name == "" || name == "-" {
		return nil
	}
	given := name
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		return usagef("--%s %s is a directory; name a file in it", flag, name)
	}
	to, placed := trust.NewOutput(name)
	if r, refused := errors.AsType[*trust.Refused](placed); refused {
		return usagef("--%s %s: %w; name another file", flag, given, r)
	}
	if placed == nil {
		defer to.Close()
		if to.Stream() {
			return nil // opening it tells more, and is seen by its reader
		}
	}
	switch {
	case err == nil:
		if name, err = filepath.EvalSymlinks(name); err != nil {
			return usagef("--%s %s: %w", flag, given, plain(err))
		}
	case !errors.Is(err, fs.ErrNotExist):
		return usagef("--%s %s: %w", flag, name, plain(err))
	}
	dir := filepath.Dir(name)
	if info, err = os.Stat(dir); err != nil {
		return usagef("--%s %s: %s: %w", flag, given, dir, plain(err))
	}
	if !info.IsDir() {
		return usagef("--%s %s: %s is not a directory", flag, given, dir)
	}
	if err := accessDir(dir); err != nil {
		return usagef("--%s %s: cannot write in %s: %w", flag, given, dir, err)
	}
	return nil
}

// stateDir is setting.StateDir, where this user can make it.
func stateDir() (string, error) {
	dir, err := setting.StateDir()
	if err != nil {
		return "", errors.New("this user has no home directory")
	}
	return dir, accessBelow(filepath.Dir(dir))
}

// accessBelow reports why nothing can be made at or below a directory that need not be there yet.
func accessBelow(dir string) error {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	if err := accessDir(dir); err != nil {
		return fmt.Errorf("cannot write in %s: %w", dir, err)
	}
	return nil
}
