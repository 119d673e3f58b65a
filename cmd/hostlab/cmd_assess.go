package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/document"
	"hostlab/internal/explain/connect"
	"hostlab/internal/host"
	"hostlab/internal/probe"
	"hostlab/internal/report"
	"hostlab/internal/ring"
	"hostlab/internal/screen"
	"hostlab/internal/service"
)

// The time that all probes together may take. Facts, checks and the report come
// on top and take about a second; the promise is 90 s in all.
const (
	fullBudget  = 60 * time.Second
	quickBudget = 20 * time.Second
)

// After the time in which a service was watched, probes take less.
const (
	behindFull  = 20 * time.Second
	watchQuick  = 12 * time.Second
	behindQuick = 7 * time.Second
)

// The shortest minute that says something, and the longest, beside the host and alone.
const leastWatch, mostWatch, mostAlone = time.Second, time.Hour, 24 * time.Hour

// dsnVariable holds a DSN that need not be in a process list.
const dsnVariable = "HOSTLAB_DSN"

type assessOptions struct {
	report.Options
	dsn, dsnFile string // "": none
	only         string // "": the service and its host
	trouble      string // that the demo has on purpose; "": none
	out          printing
	page         string // the page that is written where no output was named
	noPage       string // why there is none
	save         string // "" for none, "-" for stdout
	from         string // a saved assessment; "": none
	compare      string // another, to compare with
	bursts       string // file of the bursts; "": none
	experiments  []string
	quick        bool
	all          bool // is to be printed
	accept       exceptions
	past         past
	then         *report.History // what a ring has of the time that was asked for; nil: now is
}

func newAssess(std streams) *cobra.Command {
	var o assessOptions
	cmd := &cobra.Command{
		Use:   "assess [flags]",
		Short: "Where a service loses time here, and what to change: in 90 s",
		Long: `assess watches the service that runs here for a minute, under its own load. It
shows where the service's time goes, and the most that each lever on the
platform could save. It also shows what this host is, which settings are wrong
for its role, and what to type next. It prints one screen, or everything with
--all, and writes a page (HTML) that you can send to a colleague. With --format
or --out it writes only what they name.

A service is a database, a systemd unit, a control group, or a process with its
children; on Windows a Windows service, a program or a process. Where Windows
gives no value, the report says unknown, and why. By default assess takes the
database that runs here; of several, the busiest. It logs in as you, or, if you
are root, as the server's own account. If it may not log in, it observes the
processes and says what to grant. --service demo starts a small demo shop, so
that you can try all of this.

--dsn names a database here or elsewhere. assess changes nothing in it: its
session cannot write, which it verifies. It takes under 2 % of one CPU.
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
put the whole DSN into a file (--dsn-file) or $` + dsnVariable + `; Oracle has no other
way. assess never prints or saves it. It refuses a password file that is a
symbolic link, or that others may read (chmod 600 it). A server that assess
found itself gets a password only if its socket, its account and its program
are root's or of the vendor's package.

TLS: assess encrypts the session, or does not connect. localhost, 127.0.0.1,
::1 and sockets are exempt. A password in clear text takes TLS there too, or
the socket of such a server.
` + servers("Only the DSN can permit plain text: %s.", func(v *connect.Vendor) string { return v.Product + " " + v.Plain }) + `
` + servers("To check the server's certificate: %s.", func(v *connect.Vendor) string { return v.Product + " " + v.Checked }) + `

` + servers("Rights: %s.", func(v *connect.Vendor) string { return v.Product + " " + v.Rights }) + `

For settings of PostgreSQL, MariaDB, MySQL and SQL Server, the answer of the
running server counts, not its files. hostlab reads SQL Server as Microsoft
documents it; nobody has tried that on a live server.

Then it measures the platform with short probes. Each figure has n, a confidence
interval and a noise floor:
` + probe.Help() + `

assess changes no setting and needs no root. The commit probe writes two files
of 8 MiB into the log directory and one of 1 MiB into memory. They have no names
and vanish with the probe. If assess watches a service, or the host is
busy, the probes use at most a tenth of the CPUs. They stop if the watched
service slows down.

The log directory is the one of --log-dir, else of the watched database. If you
may not write there, assess uses a temporary directory on the same device.
Otherwise no commits are timed. The report says where, or why not.

--only service leaves the host out: no checks, no probes. --save keeps all that
was seen in one text file. On another machine, --from reads it and prints the
same report, to the letter. The file omits the host's name, addresses and the
texts of statements, which --texts shows. It keeps the names of the service, of
its server, and of who held locks. --compare puts an earlier file of --save
beside this minute. --at, --worst and --compare yesterday tell of the time
before, from the ring of 'hostlab watch --service NAME --ring 2d'. --experiment
shows the gain that an experiment, such as 'hostlab run log-device', has
measured.

As root, on Linux 5.12 or newer with type information (BTF), small programs in
the kernel count what the scheduler does with the service. Nothing of them
stays. --bursts writes the bursts of the CPUs, from which 'hostlab predict
--workload' says what a power policy would cost: of this minute, or with --at
and --for of a day of the ring. If more than 1 % of the bursts were lost, it
does not write them.

Exit status:
  0    done
  1    failed on the way, or the service ended early
  2    a flag, the log directory or a file cannot be used
  3    there is nothing to inspect
  130  interrupted; the report covers the time until then`,
		Example: `  hostlab assess
  hostlab assess --role production-app --log-dir /oracle/redo --out db7.html
  hostlab assess --service unit:tomcat9 --for 5m
  hostlab assess --dsn postgres://monitor@db1/prod --only service
  hostlab assess --save db7.txtar --out -
  hostlab assess --from db7.txtar --out db7.html --out db7.json
  hostlab assess --only service --compare monday.txtar
  hostlab assess --service postgresql --at 02:14 --compare yesterday
  hostlab assess --service postgresql --worst 10m
  sudo hostlab assess --service unit:postgresql --bursts bursts.jsonl
  hostlab assess --quick --format json | jq .verdict.text`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.prepare(cmd); err != nil {
				return err
			}
			return o.run(cmd, std)
		},
	}
	o.flags(cmd, std)
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

func (o *assessOptions) flags(cmd *cobra.Command, std streams) {
	f := cmd.Flags()
	roleFlag(cmd, &o.Role)
	f.StringVar(&o.Service, "service", "auto", "`SERVICE` to watch: "+service.Forms)
	f.StringVar(&o.dsn, "dsn", "", "`DSN` of a database to watch, here or elsewhere, without a password (default $"+dsnVariable+")")
	f.StringVar(&o.dsnFile, "dsn-file", "", "`FILE` with the DSN; it may hold a password, with mode 0600")
	f.DurationVar(&o.For, "for", time.Minute, "how long to watch")
	f.StringVar(&o.only, "only", "", "`WHAT` to look at: service, without the host")
	f.StringVar(&o.LogDir, "log-dir", "", "directory on the device of the database's log (default: that of the watched database)")
	o.out.flags(cmd, std, tableForms)
	f.StringVar(&o.save, "save", "", "also keep all that was seen in `FILE`, which --from reads elsewhere")
	f.StringVar(&o.from, "from", "", "report what this `FILE` of --save holds (- for stdin), or this directory of a ring, and measure nothing")
	f.StringVar(&o.compare, "compare", "", "compare with an earlier minute, a `FILE` of --save, or with yesterday at that time, from the ring")
	f.StringArrayVar(&o.experiments, "experiment", nil,
		"show the measured gain in `DIR`, a record of 'hostlab run', beside the bound (may be repeated)")
	f.BoolVar(&o.Texts, "texts", false, "show the texts of the statements that ran most, which may hold values, in the report and with --all; not with --save")
	f.StringVar(&o.bursts, "bursts", "", "write the bursts of the CPUs to `FILE`, for predict --workload")
	o.accept.flags(cmd)
	o.past.flags(cmd)
	f.BoolVar(&o.all, "all", false, "print all that the report has, instead of one screen")
	f.BoolVar(&o.quick, "quick", false, "measure for 20 s instead of a minute: wider intervals, fewer answers")
	for name, complete := range map[string][]string{"dsn": nil, "for": nil, "only": {"service"}} {
		cobra.CheckErr(cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(complete,
			cobra.ShellCompDirectiveNoFileComp)))
	}
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("service", completeServices))
	cobra.CheckErr(cmd.MarkFlagDirname("log-dir"))
}

// prepare finds all mistakes before anything is done.
func (o *assessOptions) prepare(cmd *cobra.Command) error {
	o.Tool, o.Budget, o.Behind, o.Bursts = versionText(), fullBudget, behindFull, o.bursts != ""
	if o.quick {
		o.Budget, o.Behind = quickBudget, behindQuick
		if !cmd.Flags().Changed("for") {
			o.For = watchQuick
		}
	}
	if o.past.at != "" || cmd.Flags().Changed("worst") || o.from != "" && ring.Is(o.from) {
		if err := o.find(cmd, time.Now()); err != nil {
			return err
		}
		return o.findOutputs()
	}
	if o.from != "" {
		for _, name := range []string{"save", "service", "dsn", "dsn-file", "for", "quick", "log-dir", "role",
			"exceptions", "only",
			"texts", "bursts", "experiment"} {
			if cmd.Flags().Changed(name) {
				return usagef("--from and --%s exclude each other: the file holds all that was seen", name)
			}
		}
		return o.findOutputs()
	}
	if o.Texts && o.save != "" {
		return usagef("--texts and --save exclude each other: a saved minute is for others to read, and texts hold values")
	}
	for flag, read := range map[string]string{"compare": o.compare, "dsn-file": o.dsnFile} {
		if o.save != "" && read != "" && sameFile(o.save, read) {
			return usagef("--save %s and --%s %s are one file, which would be replaced; give --save another name", o.save,
				flag, read)
		}
	}
	if err := o.whom(); err != nil {
		return err
	}
	var err error
	if o.Accepted, err = o.accept.read(); err != nil {
		return err
	}
	if err := ownRole(cmd, &o.Role); err != nil {
		return err
	}
	if len(o.experiments) > 0 {
		records, err := loadRecords(o.experiments)
		if err != nil {
			return usagef("--experiment: %w", err)
		}
		if o.Experiments, err = report.Measured(o.experiments, records); err != nil {
			return usageError{err}
		}
	}
	if err := o.findLogDir(); err != nil {
		return err
	}
	return o.findOutputs()
}

// findLogDir makes the log directory absolute.
func (o *assessOptions) findLogDir() (err error) {
	named := o.LogDir
	if named == "" {
		return nil
	}
	if o.LogDir, err = filepath.Abs(named); err != nil {
		return usagef("--log-dir %s: the current directory is unknown: %w", named, plain(err))
	}
	return nil
}

// findOutputs decides where the page goes, and refuses early what cannot be written.
func (o *assessOptions) findOutputs() error {
	if len(o.out.outs) == 0 && !o.out.given() {
		dir, err := stateDir()
		if err != nil {
			o.noPage = fmt.Sprintf("No page was written: %v; name a file with --out.", err)
		} else {
			o.page = filepath.Join(dir, "assess-"+time.Now().Format("20060102-150405")+".html")
		}
	}
	for flag, file := range map[string]string{"save": o.save, "bursts": o.bursts} {
		if err := checkWritable(flag, file); file != "" && err != nil {
			return err
		}
	}
	return nil
}

// run measures and writes what was asked for. If a file cannot be written, the text still comes: a minute of
// measuring is not lost to a full disk.
func (o *assessOptions) run(cmd *cobra.Command, std streams) (err error) {
	ctx := cmd.Context()
	remind(notes(cmd, std))
	if o.past.dir != "" {
		if o.then, err = o.history(ctx); err != nil {
			return err
		}
	}
	before, err := o.before(ctx, std)
	if err != nil {
		return err
	}
	a, err := o.assessment(ctx, std, quiet(cmd))
	if err != nil {
		return err
	}
	a.Before = before
	d := a.Document()
	if text := o.origin(); text != "" {
		d.About = append(d.About, text)
	}
	page, err1 := output(std, o.page, func(w io.Writer) error { return document.WriteHTML(w, d) })
	bursts, err2 := output(std, o.bursts, a.WriteBursts)
	var files []string
	for _, f := range [][2]string{{"Report: ", page}, {"Saved: ", o.save}, {"Bursts: ", bursts}, {"", o.noPage}} {
		if f[1] != "" {
			files = append(files, f[0]+f[1])
		}
	}
	err3 := o.out.each(std, func(w io.Writer, form string) error {
		if form == "text" {
			return o.writeText(w, a, d, files)
		}
		return writeDocument(w, d, form)
	})
	if err3 != nil && !slices.Contains(o.out.places(), "-") {
		err3 = errors.Join(err3, o.writeText(std.out, a, d, files))
	}
	if a.Minute != nil && ctx.Err() == nil && o.origin() == "" {
		err2 = errors.Join(err2, a.Minute.Early())
	}
	end := ctx.Err()
	if end != nil && o.origin() == "" {
		end = stopped{"the report covers the time until then"}
	}
	return errors.Join(err1, err2, err3, a.Broken(), end)
}

// origin says where what is reported was read; "": it was measured now.
func (o *assessOptions) origin() string {
	switch {
	case o.then != nil:
		return when(o.then)
	case o.from == "":
		return ""
	}
	return "From " + cmp.Or(strings.TrimPrefix(o.from, "-"), "standard input")
}

// writeText writes one screen, or all of d, and the files that hold more.
func (o *assessOptions) writeText(w io.Writer, a *report.Assessment, d *document.Document, files []string) error {
	if o.all {
		all := *d
		all.Sections = append(slices.Clone(d.Sections), document.Titled("Files", document.Lines("", files...)...))
		return writeDocument(w, &all, "text")
	}
	if text := o.origin(); text != "" {
		files = append(files, text)
	}
	return writeScreen(w, a.Brief(files...))
}

// assessment is what was seen now, or long ago. What is saved is read again, so that both reports are one.
func (o *assessOptions) assessment(ctx context.Context, std streams, quiet bool) (*report.Assessment, error) {
	switch {
	case o.then != nil:
		a, err := o.then.Assessment()
		if err != nil {
			return nil, usageError{err}
		}
		if o.past.note != "" {
			a.Warnings = append([]string{o.past.note}, a.Warnings...)
		}
		return a, nil
	case o.from != "":
		return read(ctx, std, &machine{root: o.from, flag: "--from"})
	}
	if err := host.Look(host.Tree{}); err != nil {
		return nil, cannotLook{err}
	}
	if o.trouble != "" && !quiet {
		_, width := terminal(std.err)
		fmt.Fprintln(std.err, strings.Join(screen.Wrap(o.trouble, width), "\n"))
	}
	p := newProgress(std.err, quiet, o.For+o.Behind)
	defer p.clear()
	o.Step, o.CannotTry = p.step, cannotTry
	seen, facts, err := report.Inspect(ctx, o.Options)
	if _, ok := errors.AsType[*report.Unusable](err); ok {
		return nil, usageError{err}
	}
	if err != nil {
		return nil, err
	}
	if o.save == "" {
		return seen.Assessment(host.Tree{}, facts), nil
	}
	var b bytes.Buffer
	if err := seen.Save(context.WithoutCancel(ctx), &b); err != nil {
		return nil, err
	}
	if _, err := output(std, o.save, func(w io.Writer) error { _, err := w.Write(b.Bytes()); return err }); err != nil {
		return nil, err
	}
	m := &machine{root: o.save, flag: "--save"}
	tree, done, err := m.unpack(b.Bytes())
	if err != nil {
		return nil, err
	}
	defer done()
	a, err := report.From(context.WithoutCancel(ctx), tree)
	if err != nil {
		return nil, err
	}
	if facts != nil { // the file leaves the host's name out
		a.Host = facts.Identity.Hostname.Or(a.Host)
		if a.Facts != nil { // the service alone has none
			a.Facts.Identity.Hostname = facts.Identity.Hostname
		}
	}
	if seen.Minute != nil {
		a.Minute.Bursts = seen.Minute.Bursts
	}
	return a, nil
}
