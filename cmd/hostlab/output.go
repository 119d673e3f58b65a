package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hostlab/internal/document"
	"hostlab/internal/screen"
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

// form is that of a file.
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

// places are where to print.
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
