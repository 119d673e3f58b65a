package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/bounded"
	"hostlab/internal/document"
	"hostlab/internal/explain"
	"hostlab/internal/explain/connect"
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
		Long: `explain watches a live database for a while and says where the time of its
sessions goes: the application, database CPU, the wait for a CPU, log wait, data
reads, locks, other waits, idle: pauses between transactions. It shows the top
wait events in the server's words and in ours, the number of log writes and the
time of one. For each lever it shows the likely and the greatest gain. A faster
log device removes no more than the log wait and the lock waits behind it.

It only reads, in a session that cannot write, and takes under 1 % of one CPU.
What it may not see, or what the server does not count, is said with the grant
or the parameter that would show it; nothing is changed.

DSN: postgres://USER@HOST:5432/DB or key=value as libpq has it, mysql:// or
mariadb://USER@HOST/DB (?socket=/PATH), sqlserver://USER@HOST?database=DB,
oracle://USER@HOST:1521/SERVICE, hdb://USER@HOST:30015. What was tried on live
servers: PostgreSQL 15 and MariaDB 10.11. The readers for SQL Server, Oracle and
SAP HANA follow the vendors' documentation and are not yet tried on a live
server.
` + oracleNote() + `

Passwords: everyone on this host can see a command line, so --dsn takes none.
Put it where the vendor's own clients look: ~/.pgpass, the file that $PGPASSFILE
names or $PGPASSWORD; ~/.my.cnf ([client]) or $MYSQL_PWD; $SQLCMDPASSWORD. Or
put the whole DSN into a file (--dsn-file) or $` + dsnVariable + `, which is the way
for Oracle and SAP HANA. It is never printed or saved. A file that others may
read is refused (chmod 600), as is a link, in place of being left out.

TLS: to any host but localhost, 127.0.0.1, ::1 and a socket the session is
encrypted, or it does not begin. The DSN alone can permit plain text:
sslmode=prefer or disable (PostgreSQL; $PGSSLMODE does not count), tls=preferred
or false (MariaDB, MySQL), encrypt=disable (SQL Server), SSL=false (Oracle),
encrypt=false (SAP HANA). The server's certificate is checked on request:
sslmode=verify-full, tls=true, encrypt=true, SSL=true, TLSRootCAFile=FILE.

Rights: pg_read_all_stats or pg_monitor (PostgreSQL); PROCESS (MariaDB, MySQL);
VIEW SERVER STATE (SQL Server); SELECT_CATALOG_ROLE (Oracle); MONITORING (HANA).

Sampled shares have 95 % intervals (Wilson's, with samples that correlate
counted for as many as their variance between stretches is worth). Log writes,
and on this host CPU time, come from counters: samples overstate short waits.

--save FILE keeps the recording, as the JSON of --format json; --compare FILE
sets this one beside an earlier one. --experiment DIR reads the record of an
experiment, such as 'hostlab run log-device'. It shows the measured gain beside
the bound, with its interval and n. All is in
docs/schema/explain.schema.json.

Exit status: 0 done; 1 the server went away: what was seen until then is printed
and saved; 2 unusable flag, DSN, file or connection; 130 interrupted, likewise.`,
		Example: `  hostlab explain --dsn postgres://monitor@db1/prod
  hostlab explain --dsn mysql://monitor@db2/ --for 5m   # ~/.my.cnf: password
  hostlab explain --dsn 'host=/var/run/postgresql user=postgres' --save mon.json
  hostlab explain --dsn-file ~/.prod --compare mon.json --format html > log.html
  hostlab explain --dsn-file ~/.prod --format json | jq .bounds`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&o.dsn, "dsn", "", "data source `NAME` of the server, without a password (default $"+dsnVariable+")")
	f.StringVar(&o.dsnFile, "dsn-file", "", "`FILE` that holds the DSN, maybe with a password: mode 0600")
	f.DurationVar(&o.lasts, "for", time.Minute, "how long to watch")
	f.StringVar(&o.compare, "compare", "", "earlier recording, a `FILE` of --save, to set beside this one")
	f.StringArrayVar(&o.experiments, "experiment", nil, "record of 'hostlab run', a `DIR`, whose measured gain stands beside the bound; may be repeated")
	f.StringVar(&o.save, "save", "", "also keep the recording in `FILE`")
	formatFlag(cmd, &o.format, documentFormats)
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no progress")
	for _, name := range []string{"dsn", "for"} {
		cobra.CheckErr(cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
	return cmd
}

func oracleNote() string {
	if connect.HasOracle {
		return "Oracle's driver is built in."
	}
	return "Oracle's driver is 18 MB and not in this build: 'go build -tags oracle' adds it."
}

// explainRun is what the command line asks for.
type explainRun struct {
	std                                 streams
	dsn, dsnFile, compare, save, format string
	experiments                         []string
	lasts                               time.Duration
	quiet                               bool
}

func (o *explainRun) run(cmd *cobra.Command) error {
	before, dsn, err := o.check()
	if err != nil {
		return err
	}
	gains, err := o.gains()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	src, err := connect.Open(ctx, dsn)
	switch {
	case ctx.Err() != nil:
		return context.Canceled
	case connect.IsUsage(err):
		return usageError{err}
	case err != nil:
		return err
	}
	defer src.Close()
	p := newProgress(o.std.err, o.quiet, o.lasts)
	step := p.step("watching "+src.Server().Vendor, o.lasts)
	rep, err := explain.Record(ctx, src, explain.Options{For: o.lasts, Tool: versionText(), Progress: func(done time.Duration) { step(done, o.lasts) }})
	p.clear()
	if err != nil {
		return err
	}
	measure(&rep, gains)
	if o.save != "" {
		if err := writeFile(o.save, func(f *os.File) error { return rep.Write(f) }); err != nil {
			return err
		}
	}
	if err := o.print(&rep, before); err != nil {
		return err
	}
	switch rep.Ended {
	case "":
		return nil
	case "interrupted":
		return context.Canceled
	}
	return fmt.Errorf("the server went away after %.1f s: %s", rep.Wall, rep.Ended)
}

// check finds all mistakes before anything is asked.
func (o *explainRun) check() (before *explain.Report, dsn *connect.DSN, err error) {
	if o.lasts < leastRecording || o.lasts > mostRecording {
		return nil, nil, usagef("--for %s: expected 1s to 24h", o.lasts)
	}
	if tty, _ := terminal(o.std.out); tty && o.format == "html" {
		return nil, nil, usagef("a page is not for a terminal; write it to a file, as in --format html > explain.html")
	}
	if o.save != "" {
		if err := checkWritable("save", o.save); err != nil {
			return nil, nil, err
		}
		for flag, read := range map[string]string{"compare": o.compare, "dsn-file": o.dsnFile} {
			if read != "" && sameFile(o.save, read) {
				return nil, nil, usagef("--save %s and --%s %s are one file, which would be replaced; give --save another name", o.save, flag, read)
			}
		}
	}
	if o.compare != "" {
		b, err := bounded.ReadFile(o.compare, largestReport)
		if err != nil {
			return nil, nil, usagef("--compare %s: %w", o.compare, plain(err))
		}
		if before, err = explain.Read(b); err != nil {
			return nil, nil, usagef("--compare %s: %w", o.compare, err)
		}
	}
	text, err := o.source()
	if err != nil {
		return nil, nil, err
	}
	dsn, err = connect.Parse(text)
	if err != nil {
		return nil, nil, usageError{err}
	}
	if o.dsn != "" && dsn.HasPassword() {
		return nil, nil, usagef("--dsn has a password, which everyone on this host would see in the list of processes; leave it out: it can be in %s", dsn.PasswordPlaces())
	}
	return before, dsn, nil
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

// source is the DSN, from wherever it was given.
func (o *explainRun) source() (string, error) {
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
	case os.Getenv(dsnVariable) != "":
		return os.Getenv(dsnVariable), nil
	}
	return "", usageError{errors.New("explain needs a server: --dsn, --dsn-file or $" + dsnVariable + "; it takes " + connect.Forms)}
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

func (o *explainRun) print(rep, before *explain.Report) error {
	d := explain.Document(rep, before)
	if o.save != "" && o.format == "text" {
		d.Sections = append(d.Sections, document.Section{Title: "Saved", Blocks: document.Lines("", o.save)})
	}
	return printDocument(o.std, d, o.format)
}
