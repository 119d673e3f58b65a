package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/bounded"
	"hostlab/internal/document"
	"hostlab/internal/explain"
	"hostlab/internal/explain/connect"
	"hostlab/internal/host"
	"hostlab/internal/service"
	"hostlab/internal/trust"
)

// The shortest recording that says something, and the longest.
const leastRecording, mostRecording = time.Second, 24 * time.Hour

// dsnVariable holds a DSN that need not be in a process list.
const dsnVariable = "HOSTLAB_DSN"

func newExplain(std streams) *cobra.Command {
	o := explainRun{std: std}
	cmd := &cobra.Command{
		Use:   "explain [flags]",
		Short: "Where a live database's time goes, and what could be gained",
		Long: `explain watches a live service as assess does, but not the host: no facts, no
checks, no probes. It shows where the service's time goes: the application, CPU,
the wait for a CPU (run queue), log wait, data reads, locks, other waits. For
each lever on the platform it shows the likely and the greatest gain. For a
database it also shows the top wait events, by the server's names and by ours.
It counts the log writes, and shows how long one took.

explain changes nothing: its session cannot write, which it verifies. It takes
under 2 % of one CPU. If it may not see something, or the server does not count
it, explain names the grant or the parameter that would show it.

` + servers("DSN: %s.", func(v *connect.Vendor) string { return v.Form }) + `
` + servers("Tried on live servers: %s. The readers of the others follow the vendors' documentation.", func(v *connect.Vendor) string {
			if v.Tried == "" {
				return ""
			}
			return v.Product + " " + v.Tried
		}) + `
` + paragraph(connect.Lacking()) + `

Passwords: everyone on this host can see a command line, so --dsn takes none.
Put it where the vendor's own clients look: ~/.pgpass, the file that $PGPASSFILE
names or $PGPASSWORD; ~/.my.cnf ([client]) or $MYSQL_PWD; $SQLCMDPASSWORD. Or
put the whole DSN into a file (--dsn-file) or $` + dsnVariable + `; Oracle and SAP HANA
have no other way. explain never prints or saves it. It refuses a password file
that is a symbolic link, or that others may read (chmod 600 it). A server that
explain found itself gets a password only if its socket, its account and its
program are root's or of the vendor's package.

TLS: explain encrypts the session, or does not connect. localhost, 127.0.0.1,
::1 and sockets are exempt. A password in clear text takes TLS there too, or
the socket of such a server.
` + servers("Only the DSN can permit plain text: %s.", func(v *connect.Vendor) string { return v.Product + " " + v.Plain }) + `
` + servers("To check the server's certificate: %s.", func(v *connect.Vendor) string { return v.Product + " " + v.Checked }) + `

` + servers("Rights: %s.", func(v *connect.Vendor) string { return v.Product + " " + v.Rights }) + `

Shares from samples have 95 % confidence intervals (Wilson; a sample that
resembles the one before counts for less). Log writes, and on this host CPU
time, come from counters, since samples overstate short waits.

--save FILE keeps the recording as JSON, as --format json prints it. --compare
FILE compares this recording with an earlier one. --experiment DIR reads the
record of an experiment, such as 'hostlab run log-device'. It shows the measured
gain, with interval and n, beside the bound.
docs/schema/explain.schema.json describes the JSON.

Exit status: 0 done; 1 the service ended early; 2 unusable flag, DSN, file or
connection; 130 interrupted. With 1 and 130, explain prints and saves what it
saw until then.`,
		Example: `  hostlab explain                          # the database that runs here
  hostlab explain --service unit:tomcat9
  hostlab explain --dsn postgres://monitor@db1/prod
  hostlab explain --dsn mysql://monitor@db2/ --for 5m   # ~/.my.cnf: password
  hostlab explain --dsn 'host=/var/run/postgresql user=postgres' --save mon.json
  hostlab explain --dsn-file ~/.prod --compare mon.json --format html > log.html
  hostlab explain --dsn-file ~/.prod --format json | jq .levers`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.compare, "compare", "", "compare with an earlier recording, a `FILE` of --save")
	f.StringArrayVar(&o.experiments, "experiment", nil,
		"show the measured gain in `DIR`, a record of 'hostlab run', beside the bound (may be repeated)")
	f.StringVar(&o.save, "save", "", "also keep the recording in `FILE`")
	formatFlag(cmd, &o.format, documentFormats)
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no progress")
	return cmd
}

// servers is a paragraph of help with something of each vendor that has it.
func servers(form string, of func(*connect.Vendor) string) string {
	var all []string
	for _, v := range connect.Vendors() {
		if s := of(v); s != "" {
			all = append(all, s)
		}
	}
	return paragraph(fmt.Sprintf(form, strings.Join(all, ", ")))
}

// explainRun is what the command line asks for.
type explainRun struct {
	asked
	std                   streams
	compare, save, format string
	experiments           []string
	quiet                 bool
}

func (o *explainRun) run(cmd *cobra.Command) error {
	before, err := o.prepare()
	if err != nil {
		return err
	}
	gains, err := o.gains()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	if err := host.Look(host.Tree{}); err != nil {
		return cannotLook{err}
	}
	dir, err := filepath.Abs(".") // for the files of the demo
	if err != nil {
		return err
	}
	facts := host.Collect(ctx, host.Options{})
	w, err := o.findService(ctx, facts, dir)
	switch {
	case err != nil:
		return err
	case w == nil:
		return usagef("explain found no service to watch; name one with --service (%s), or a database server with --dsn, "+
			"--dsn-file or $%s (%s)", service.Forms, dsnVariable, connect.Forms())
	}
	defer w.close()
	p := newProgress(o.std.err, o.quiet, o.lasts)
	m, err := o.watch(ctx, w, facts, p)
	p.clear()
	if m == nil { // else the error is that it was interrupted
		return err
	}
	levers := m.Join(nil)
	measure(levers, gains)
	d := m.Document(levers, before)
	if o.save != "" {
		if err := writeFile(o.save, func(f *os.File) error { return document.WriteJSON(f, d.Data) }); err != nil {
			return err
		}
		if o.format == "text" {
			d.Sections = append(d.Sections, document.Section{Title: "Saved", Blocks: document.Lines("", o.save)})
		}
	}
	if err := printDocument(o.std, d, o.format); err != nil {
		return err
	}
	if err == nil && m.Ended != "" {
		return m.Early()
	}
	return err
}

// prepare finds all mistakes before anything is asked, and reads what is compared with.
func (o *explainRun) prepare() (before *explain.Report, err error) {
	if tty, _ := terminal(o.std.out); tty && o.format == "html" {
		return nil, usagef("a page is not for a terminal; write it to a file, as in --format html > explain.html")
	}
	if o.save != "" {
		if err := checkWritable("save", o.save); err != nil {
			return nil, err
		}
		for flag, read := range map[string]string{"compare": o.compare, "dsn-file": o.dsnFile} {
			if read != "" && sameFile(o.save, read) {
				return nil, usagef("--save %s and --%s %s are one file, which would be replaced; give --save another name",
					o.save, flag, read)
			}
		}
	}
	if o.compare != "" {
		b, err := bounded.ReadFile(o.compare, largestReport)
		if err != nil {
			return nil, usagef("--compare %s: %w", o.compare, plain(err))
		}
		if before, err = explain.Read(b); err != nil {
			return nil, usagef("--compare %s: %w", o.compare, err)
		}
	}
	return before, o.check(mostRecording)
}

// largestReport bounds what is read as a recording of explain.
const largestReport = 32 << 20

// sameFile reports whether two names lead to one file, by links too. One that is not
// there is no other.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// source is the DSN, from wherever it was given; "": it was not.
func (o *asked) source() (string, error) {
	switch {
	case o.dsn != "" && o.dsnFile != "":
		return "", usagef("--dsn and --dsn-file both name a server; give one")
	case o.dsn != "":
		return o.dsn, nil
	case o.dsnFile != "":
		b, err := readSecret(o.dsnFile)
		if refused, ok := errors.AsType[*trust.Refused](err); ok {
			return "", usagef("--dsn-file %w", refused)
		}
		if err != nil {
			return "", usagef("--dsn-file %s: %w", o.dsnFile, plain(err))
		}
		for line := range strings.Lines(string(b)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				return line, nil
			}
		}
		return "", usagef("--dsn-file %s holds no DSN", o.dsnFile)
	}
	return os.Getenv(dsnVariable), nil
}

// readSecret reads a file that nobody else may read, and of a longer one no more than any
// DSN has.
func readSecret(path string) ([]byte, error) {
	f, err := trust.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := trust.Secret(f); err != nil {
		return nil, err
	}
	return bounded.File(f, 64<<10)
}
