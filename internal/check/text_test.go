package check

import (
	"errors"
	"fmt"
	"os/exec"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/screen"
	"hostlab/internal/testkit"
)

// sick is a host with something wrong of most kinds, for looking at output.
func sick() *host.Facts {
	f := named("db1")
	for _, c := range allCases() {
		switch c.id + "/" + c.name {
		case "PWR-001/acpi-cpufreq powersave on 512 CPUs", "IDL-001/deep state open", "MEM-001/always",
			"MEM-005/default on 512 GiB",
			"KRN-004/oracle's", "STO-001/mq-deadline on two NVMe", "STO-004/discard", "VRT-004/two runs off":
			c.facts(f)
		}
	}
	f.Kernel.Clocksource = denied[string]("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	f.Kernel.PIDMax = known[int64](4194304, "/proc/sys/kernel/pid_max")
	return f
}

func named(name string) *host.Facts {
	f := &host.Facts{}
	f.Identity.Hostname = known(name, "/proc/sys/kernel/hostname")
	return f
}

// options say how a document is rendered.
type options struct {
	document.TextOptions
	all bool
}

func render(t *testing.T, f *host.Facts, role Role, opt options) string {
	t.Helper()
	return text(t, Document(f, role, Run(f, role, All()), opt.all, time.Time{}), opt.TextOptions)
}

func text(t *testing.T, d *document.Document, opt document.TextOptions) string {
	t.Helper()
	var b strings.Builder
	testkit.OK(t, document.WriteText(&b, d, opt))
	return b.String()
}

func TestTextGolden(t *testing.T) {
	testkit.Equal(t, "testdata/findings.txt", render(t, sick(), ProductionDB, options{}))
	testkit.Equal(t, "testdata/verbose.txt", render(t, sick(), Development, options{all: true}))
	var b strings.Builder
	for _, id := range []string{"PWR-001", "MEM-004"} {
		c := testkit.Must(Find(id))(t)
		b.WriteString(text(t, Explain(c), document.TextOptions{}))
	}
	testkit.Equal(t, "testdata/long.txt", b.String())
	list := text(t, List(All()), document.TextOptions{})
	testkit.Equal(t, "testdata/list.txt", list)
	testkit.Fits(t, list, 80, nil)
}

// TestWidth holds every line of every case within 80 columns, and narrower if asked; only
// commands stay whole, since a break would change them.
func TestWidth(t *testing.T) {
	for _, role := range Roles {
		fits(t, "no facts", &host.Facts{}, role, Run(nil, role, All()))
	}
	eachCase(func(c lookCase, role Role) {
		f := c.facts0()
		fits(t, c.id+"/"+c.name, f, role, own(f, role))
	})
	for _, c := range All() {
		testkit.Fits(t, text(t, Explain(c), document.TextOptions{}), 80, nil, c.ID)
	}
}

// eachCase goes through all cases in all roles; where the tests with the tag system are not built, in one role each, by turns.
func eachCase(do func(lookCase, Role)) {
	for i, c := range allCases() {
		for j, role := range Roles {
			if testkit.Built || i%len(Roles) == j {
				do(c, role)
			}
		}
	}
}

// unseen holds the results of each role without facts.
var unseen = map[Role][]Result{}

// own are the results in which a host differs from one of which nothing is known. Of many hosts, documents of
// these hold every line that documents of all results do, and take a fraction of the time.
func own(f *host.Facts, role Role) (out []Result) {
	if unseen[role] == nil {
		unseen[role] = Run(nil, role, All())
	}
	for i, r := range Run(f, role, All()) {
		if !reflect.DeepEqual(r, unseen[role][i]) {
			out = append(out, r)
		}
	}
	return out
}

// fits fails for lines of results that are wider than they may be.
func fits(t *testing.T, name string, f *host.Facts, role Role, results []Result) {
	t.Helper()
	for _, width := range []int{80, 60, 1} {
		command := map[string]bool{}
		for _, r := range results {
			for _, line := range screen.Commands(r.Remedy, screen.Endless) {
				command["  "+line] = true
			}
		}
		out := text(t, Document(f, role, results, true, time.Time{}), document.TextOptions{Width: width})
		testkit.Fits(t, out, max(width, 40), func(line string) bool { return command[line] }, name)
	}
}

// TestRemediesAreShell has a shell parse each remedy, so that what is printed can be
// pasted. Windows remedies are for another shell.
func TestRemediesAreShell(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range allCases() {
		r := c.run(t)
		if r.Status != Finding || seen[r.Remedy] || c.id == "PWR-010" || c.id == "PWR-011" {
			continue
		}
		seen[r.Remedy] = true
		shown := strings.Join(screen.Commands(r.Remedy, 40), "\n")
		if out, err := exec.Command("sh", "-n", "-c", shown).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s\n%s", c.id, err, out, shown)
		}
	}
	if len(seen) < len(All())-2 {
		t.Errorf("only %d remedies tried for %d checks", len(seen), len(All()))
	}
}

func TestHostTextCannotDriveTheTerminal(t *testing.T) {
	f := &host.Facts{}
	governed(1, "acpi-cpufreq", "\x1b]0;owned\x07\u202epowersave\nPWR-999  HIGH", "")(f)
	out := render(t, f, ProductionDB, options{all: true})
	if i := strings.IndexFunc(out, func(r rune) bool { return r != '\n' && r < ' ' || r == '\u202e' }); i >= 0 {
		t.Errorf("control character in %q", out[i:])
	}
	if strings.Contains(out, "\nPWR-999") {
		t.Error("a value made a line of its own")
	}
}

// The headline is the same whatever is shown: information is nothing to change, and what could not be seen is named.
func TestHeadline(t *testing.T) {
	synced := kern(func(k *host.Kernel) { k.ClockSynced = known(false, "adjtimex") })
	for name, c := range map[string]struct {
		facts          func(*host.Facts)
		headline, more string
	}{
		"information": {synced, "No check found anything to change for a production database server.",
			"1 note"},
		"something to change": {also(synced, func(f *host.Facts) {
			f.Frequency.NoTurbo = known(true,
				pstateDir+"/no_turbo")
		}), "1 check found something to change for a production database server: 1 high.",
			"1 note"},
		"something not seen": {kern(func(k *host.Kernel) { k.Clocksource = denied[string]("current_clocksource") }),
			"No check found anything to change for a production database server; 1 could not look.", ""},
	} {
		for _, all := range []bool{false, true} {
			out := strings.Join(strings.Fields(render(t, (lookCase{facts: c.facts}).facts0(), ProductionDB, options{all: all})),
				" ")
			if !strings.HasPrefix(out, c.headline) || !strings.Contains(out, c.more) {
				t.Errorf("%s, all %v: %s", name, all, out)
			}
		}
	}
}

func TestManyRowsAreCut(t *testing.T) {
	f := &host.Facts{}
	governed(20, "amd-pstate-epp", "powersave", "")(f)
	for i := range f.Frequency.Policies {
		f.Frequency.Policies[i].EPP = known(strconv.Itoa(i+1),
			"/sys/devices/system/cpu/cpufreq/policy"+strconv.Itoa(i)+"/energy_performance_preference")
	}
	if out := render(t, f, ProductionDB, options{}); strings.Count(out, "\n  - /sys/") != 1 {
		t.Error(out)
	}
	if out := render(t, f, ProductionDB, options{all: true}); strings.Count(out, "\n  - /sys/") != 20 {
		t.Error(out)
	}
}

// Of many rows those that are wrong are shown, wherever they were read.
func TestWrongRowsAreShown(t *testing.T) {
	f := &host.Facts{}
	for i := range 9 {
		serving("mysql", inFile("O_DIRECT_"+strconv.Itoa(i), "/etc/good.cnf"))(f)
	}
	serving("mysql", inFile("fsync", "/etc/bad.cnf"))(f)
	testkit.Has(t, render(t, f, ProductionDB, options{}), "- /etc/bad.cnf innodb_flush_method = fsync")
}

type fullDisk struct{}

var errFull = errors.New("no space left on device")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestWriteErrorsAreReturned(t *testing.T) {
	for name, err := range map[string]error{
		"text": document.WriteText(fullDisk{}, Document(named("h"), ProductionDB, nil, false, time.Time{}),
			document.TextOptions{}),
		"list": document.WriteText(fullDisk{}, List(All()), document.TextOptions{}),
		"json": document.WriteJSON(fullDisk{}, Document(named("h"), ProductionDB, nil, false, time.Time{}).Data),
	} {
		if !errors.Is(err, errFull) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestManyFindings: one screen shows the worst findings in full, and a line of each other one; --all shows all in full.
func TestManyFindings(t *testing.T) {
	var list []Result
	for i := range 40 {
		list = append(list, Result{ID: fmt.Sprintf("TST-%03d", i+1), Title: "a title", Severity: Low, Status: Finding,
			Detail: "what is the case", Remedy: fmt.Sprintf("echo %d", i+1)},
			Result{ID: fmt.Sprintf("UNK-%03d", i), Title: "a title", Status: Unknown, Detail: "nobody may look"})
	}
	for _, n := range []int{18, len(list)} { // half of them are findings
		short := text(t, Document(&host.Facts{}, ProductionDB, list[:n], false, time.Time{}), document.TextOptions{Rows: document.Rows})
		testkit.Has(t, short, "MORE FINDINGS")
		testkit.Has(t, short, "TST-006 low: a title\n")
		testkit.Has(t, short, "--all prints")
		if rows := document.Folded(short, document.ScreenColumns); rows > document.ScreenLines || strings.Contains(short, "echo 6") {
			t.Errorf("%d rows:\n%s", rows, short)
		}
	}
	if all := text(t, Document(&host.Facts{}, ProductionDB, list, true, time.Time{}), document.TextOptions{}); !strings.Contains(all,
		"echo 9") || strings.Contains(all, "MORE FINDINGS") {
		t.Error(all)
	}
}

// TestPlainPostgres is a guest with PostgreSQL on a disk of its own, the kernel's defaults (Linux 6.12) and TuneD's
// profile for it: nothing of TCP, mounts and memory is more than information.
func TestPlainPostgres(t *testing.T) {
	f := &host.Facts{}
	for _, set := range []func(*host.Facts){
		tcp(queue(4096), "postgresql"), tcp(dropped(2, 100000)), tcp(slowStart(1)), tcp(keepalive(7200, 75, 9)),
		tcp(features(1, 1, 1)),
		tcp(buffers(212992, 212992)), tcp(syn(4096, 6)), tcp(ports(32768, 60999)),
		logOn(host.ClassVirtual, "ext4", "rw,relatime"),
		stalled(0.02, 0), virtio(1, 8), ages(30, 5), oops(0), openFiles(1<<63 - 1), mitigated(known("Vulnerable", "mds")),
		clock("kvm-clock", "kvm-clock tsc", "kvm"), autogroup(0),
		kern(func(k *host.Kernel) { k.ClockSynced = known(false, "adjtimex") }),
	} {
		set(f)
	}
	seen := 0
	for _, r := range Run(f, ProductionDB, All()) {
		if r.Status == Finding {
			seen++
			if r.Severity > Info {
				t.Errorf("%s, %s: %s", r.ID, r.Severity, r.Detail)
			}
		}
	}
	if seen == 0 {
		t.Error("not even information: the facts are not looked at")
	}
}
