//go:build linux && amd64 && system

// Package windows tries the Windows program under Wine. It does a part of what can be tried, and with -full all of it.
package windows

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/testkit"
)

// full tries everything.
var full = flag.Bool("full", false, "try everything, which takes many minutes")

const wine64, wineserver = "/usr/lib/wine/wine64", "/usr/lib/wine/wineserver"

// schemes is a Windows with three power schemes, as wine/powrprof.c keeps them. One has an explicit value for mains power, and
// the one in force for battery; all others are defaults.
const schemes = `active 381b4222-f694-41f0-9685-ff5bb260df2e
live 381b4222-f694-41f0-9685-ff5bb260df2e
scheme 381b4222-f694-41f0-9685-ff5bb260df2e Balanced
scheme 8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c High performance
scheme a1841308-3541-4fab-bc81-f71556f20b4a Power saver
value 8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c 893dee8e-2bef-41e0-89c6-b55d0929964c ac 100
value 381b4222-f694-41f0-9685-ff5bb260df2e 893dee8e-2bef-41e0-89c6-b55d0929964c dc 7
`

// wine is hostlab.exe under Wine, with a powrprof.dll of the test bed's own. Wine is not Windows, and times mean nothing there.
type wine struct {
	dir     string
	environ []string
}

// newWine sets up a Windows of its own for a program that is still being built.
func newWine(t *testing.T, built func() (program string, err error)) *wine {
	t.Helper()
	dir := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	prefix := filepath.Join(dir, "prefix")
	w := &wine{dir: dir, environ: append(os.Environ(), "WINEPREFIX="+prefix, "WINEDEBUG=-all", "WINEDLLOVERRIDES=powrprof,pdh=n,b",
		"HOSTLAB_DSN=", `POWRPROF_FILE=Z:`+w32(dir)+`\registry`, `PDH_FILE=Z:`+w32(dir)+`\counters`)}
	testkit.OK(t, os.Mkdir(prefix, 0o700))
	t.Cleanup(func() { _ = w.command(wineserver, "-k").Run() })
	for _, args := range [][]string{{wineserver, "-p"}, {wine64, "wineboot", "-i"}} { // -p: the server stays between runs
		if err := w.command(args[0], args[1:]...).Run(); err != nil {
			t.Fatalf("%q: %v; scripts/test-deps.sh installs Wine", args, err)
		}
	}
	for _, dll := range [][]string{{"bcryptprimitives", "../wine/bcryptprimitives.c", "-ladvapi32"}, {"powrprof", "../wine/powrprof.c", "../wine/powrprof.def"},
		{"pdh", "../wine/pdh.c"}} {
		to := filepath.Join(prefix, "drive_c/windows/system32", dll[0]+".dll")
		args := append([]string{"-shared", "-O2", "-Wall", "-Werror", "-o", to}, dll[1:]...)
		if out, err := exec.Command("x86_64-w64-mingw32-gcc", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s; scripts/test-deps.sh installs mingw", err, out)
		}
	}
	testkit.OK(t, os.Link(testkit.Must(built())(t), filepath.Join(dir, "hostlab.exe")))
	return w
}

// build begins to build hostlab.exe, and returns what waits for it.
func build(t *testing.T) (built func() (program string, err error)) {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "hostlab.exe")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-overlay", overlay(t, dir), "-o", program, "../../cmd/hostlab")
	cmd.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	testkit.OK(t, cmd.Start())
	return sync.OnceValues(func() (string, error) {
		if err := cmd.Wait(); err != nil {
			return "", errors.New(out.String())
		}
		return program, nil
	})
}

// overlay adds a file to Go's library: Wine 8 does not have the call by which Go removes files below an open directory, and answers
// with another error than those after which Go takes the older call. Its tests take that one by this variable.
func overlay(t *testing.T, dir string) string {
	t.Helper()
	root := testkit.Must(exec.Command("go", "env", "GOROOT").Output())(t)
	added, list := filepath.Join(dir, "wine.go"), filepath.Join(dir, "overlay.json")
	to := filepath.Join(strings.TrimSpace(string(root)), "src/internal/syscall/windows/wine_windows.go")
	testkit.OK(t, errors.Join(os.WriteFile(added, []byte("package windows\n\nfunc init() { TestDeleteatFallback = true }\n"), 0o600),
		os.WriteFile(list, fmt.Appendf(nil, `{"Replace": {%q: %q}}`, to, added), 0o600)))
	return list
}

// w32 is a path as Wine's drive Z: has it.
func w32(path string) string { return strings.ReplaceAll(path, "/", `\`) }

func (w *wine) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command("timeout", append([]string{"-k", "5", "300", name}, args...)...)
	cmd.Env, cmd.Dir = slices.Clone(w.environ), w.dir
	return cmd
}

// run runs hostlab.exe, with faults of the DLL, and returns its exit status and all that it said.
func (w *wine) run(t *testing.T, faults string, args ...string) (status int, out string) {
	t.Helper()
	cmd := w.command(wine64, append([]string{"./hostlab.exe"}, args...)...)
	cmd.Env = append(cmd.Env, "POWRPROF_FAULT="+faults, "PDH_FAULT="+faults)
	// No pipe: Wine's services would hold it open, and Wait wait for them.
	file := testkit.Must(os.Create(filepath.Join(w.dir, "output")))(t)
	defer file.Close()
	cmd.Stdout, cmd.Stderr = file, file
	err := cmd.Run()
	b := testkit.Must(os.ReadFile(file.Name()))(t)
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		status = failed.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if regexp.MustCompile(`(?m)^panic:|^fatal error:|goroutine \d+ \[`).Match(b) {
		t.Errorf("hostlab %v crashed:\n%s", args, b)
	}
	return status, string(b)
}

// try expects an exit status, and a pattern in what hostlab says.
func (w *wine) try(t *testing.T, status int, pattern, faults string, args ...string) {
	t.Helper()
	got, out := w.run(t, faults, args...)
	text := strings.Join(strings.Fields(out), " ") // lines end where the terminal does
	if got != status || !regexp.MustCompile(pattern).MatchString(text) {
		t.Errorf("hostlab %s: exit status %d, expected %d, and %q in:\n%s", strings.Join(args, " "), got, status, pattern, out)
	}
}

func (w *wine) begin(t *testing.T) {
	t.Helper()
	testkit.OK(t, errors.Join(os.WriteFile(filepath.Join(w.dir, "registry"), []byte(schemes), 0o600), os.RemoveAll(w.journal())))
}

func (w *wine) journal() string { return filepath.Join(w.dir, "prefix/drive_c/ProgramData/hostlab") }

func (w *wine) registry(t *testing.T) string {
	t.Helper()
	return string(testkit.Must(os.ReadFile(filepath.Join(w.dir, "registry")))(t))
}

// original expects each scheme and value to be as at first, byte by byte, and no journal.
func (w *wine) original(t *testing.T, what string) {
	t.Helper()
	if diff := cmp.Diff(schemes, w.registry(t)); diff != "" {
		t.Errorf("%s: the registry is not as before:\n%s", what, diff)
	}
	for _, name := range []string{"settings.journal", "settings.marks"} {
		if _, err := os.Stat(filepath.Join(w.journal(), name)); err == nil {
			t.Errorf("%s: %s is still there", what, name)
		}
	}
}

// TestWine runs the Windows program under Wine: power settings against the test bed's own powrprof.dll, and beside that, on
// another Windows, what watches, as far as Wine can show anything.
func TestWine(t *testing.T) {
	built := build(t)
	type step struct {
		name string
		try  func(*wine, *testing.T)
	}
	for name, steps := range map[string][]step{
		"settings": {{"settings", (*wine).settings}, {"role", (*wine).role}, {"faults", (*wine).faults}, {"foreign", (*wine).foreign},
			{"others", (*wine).others}, {"kills", (*wine).kills}, {"study", (*wine).study}, {"boots", (*wine).boots}},
		"watching": {{"facts", (*wine).facts}, {"watch", (*wine).watch}, {"service", (*wine).service}, {"instance", (*wine).instance},
			{"postgres", (*wine).postgres}, {"demo", (*wine).demo}, {"commands", (*wine).commands}, {"ends", (*wine).ends}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWine(t, built)
			for _, s := range steps {
				t.Run(s.name, func(t *testing.T) { s.try(w, t) })
			}
		})
	}
}

func (w *wine) settings(t *testing.T) {
	w.begin(t)
	w.try(t, 0, `12 settings can be set here, 0 cannot.*power_scheme +Balanced.*PROCTHROTTLEMIN +ac: 5 % dc: 7 %`, "", "settings")
	w.try(t, 0, `4 objects would change.*hostlab's copy.*PERFEPP +ac, dc: 50 % -> 0 %`, "", "set", "perfepp=0", "--dry-run")
	w.try(t, 2, `governor is a setting of Linux`, "", "set", "governor=performance")
	w.try(t, 2, `has no such scheme|expected Balanced`, "", "set", "power_scheme=Fast", "--yes")
	w.original(t, "nothing was set")
	w.try(t, 0, `17 objects set`, "", "set", "--yes", "PROCTHROTTLEMIN=100", "PROCTHROTTLEMAX@ac=99%", "PERFBOOSTMODE=aggressive",
		"PERFEPP=0", "PERFINCPOL=rocket", "PERFDECPOL@ac=ideal", "PERFCHECK=15ms", "CPMINCORES@ac=100", "CPMAXCORES@dc=50", "IDLEDISABLE@ac=on")
	got := w.registry(t)
	if strings.Contains(got, "stale") || !strings.HasPrefix(got, "active 6f1d1f5c") || strings.Count(got, "\nvalue 381b4222") != 1 ||
		!strings.Contains(got, "value 6f1d1f5c-2b0e-4c55-9d7e-686f73746c62 be337238-0d82-4146-a960-4f3749d470c7 dc 2\n") {
		t.Errorf("the values are in hostlab's copy alone, and act:\n%s", got)
	}
	w.try(t, 0, `objects as set`, "", "verify")
	w.try(t, 0, `PERFEPP +dc, ac: put back to 50 %.*power_scheme +put back to Balanced`, "", "revert")
	w.original(t, "revert")
	w.try(t, 0, `Balanced -> High performance`, "", "set", "power_scheme=SCHEME_MIN", "--yes")
	w.try(t, 0, `put back to Balanced`, "", "revert")
	w.original(t, "a scheme")
}

func (w *wine) faults(t *testing.T) {
	set := []string{"set", "PERFEPP=90", "--yes"}
	for _, f := range []struct {
		faults, pattern string
		status          int
	}{
		{"policy", "PERFEPP: a group policy fixes it", 1},
		{"PowerEnumerate=5", "copy may not be read: permission denied: run hostlab as an administrator", 1},
		{"PowerDuplicateScheme=5", "permission denied: run hostlab as an administrator", 1},
		{"PowerWriteDCValueIndex=5", "Not set.*power_scheme +put back to Balanced", 1},
		{"PowerSetActiveScheme=5@2", "permission denied", 1},
	} {
		w.begin(t)
		w.try(t, f.status, f.pattern, f.faults, set...)
		w.original(t, f.faults)
	}
	w.begin(t)
	w.try(t, 0, `PERFEPP +ac, dc: 50 % \(a group policy fixes it, and wins over what is set here\)`, "policy", "settings")
	w.try(t, 0, `50 % -> 30 %, rounded by Windows`, "clamp=30", set...)
	w.try(t, 0, `30 %, as Windows made of 90 %`, "", "verify")
	w.try(t, 0, `put back`, "", "revert")
	w.original(t, "clamped values")

	w.begin(t)
	w.try(t, 1, `Not set.*Windows gave no error for 90 %, and kept 50 %`, "deaf", set...)
	w.original(t, "values that Windows does not keep")

	w.begin(t)
	w.try(t, 0, `4 objects set`, "drop=381b4222-f694-41f0-9685-ff5bb260df2e", set...)
	w.try(t, 1, `power_scheme +failed: .* the scheme no longer exists; activate another`, "", "revert")
	w.try(t, 1, `power_scheme`, "", "revert") // it stays known
}

// foreign has another program change something between set and revert: what it did stays, and hostlab's copy goes.
func (w *wine) foreign(t *testing.T) {
	const high, epp = "8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c", "36687f9e-e3a5-4dbf-b1dc-15eb381c6863"
	balanced, ours := strings.Fields(schemes)[1], "6f1d1f5c-2b0e-4c55-9d7e-686f73746c62"
	scheme := func(text, from, to string) string {
		return strings.NewReplacer("active "+from, "active "+to, "live "+from, "live "+to).Replace(text)
	}
	for _, c := range []struct {
		name, verify, revert string
		status               int
		change               func(registry string) string
		left                 string
	}{
		{"another scheme", `power_scheme +.*High performance`, `power_scheme +reads High performance: another program has changed it.*copy +put back to off`, 1, func(r string) string { return scheme(r, ours, high) }, scheme(schemes, balanced, high)},
		{"a value of the copy", `PERFEPP +ac: .*70 %`, `power_scheme +put back to Balanced`, 0,
			func(r string) string { return strings.Replace(r, ours+" "+epp+" ac 90", ours+" "+epp+" ac 70", 1) }, schemes},
		{"a value of the scheme that was in force", "", `PERFEPP +ac: reads 33 %: another program has changed it.*power_scheme +put back to Balanced`, 1,
			func(r string) string { return r + "value " + balanced + " " + epp + " ac 33\n" }, schemes + "value " + balanced + " " + epp + " ac 33\n"},
	} {
		w.begin(t)
		w.try(t, 0, `4 objects set`, "", "set", "PERFEPP=90", "--yes")
		was := w.registry(t)
		now := c.change(was)
		if err := os.WriteFile(filepath.Join(w.dir, "registry"), []byte(now), 0o600); err != nil || now == was {
			t.Fatalf("%s: %v, in:\n%s", c.name, err, was)
		}
		if c.verify != "" {
			w.try(t, 10, c.verify, "", "verify", "--exit-status")
		} else {
			w.try(t, 0, `objects as set`, "", "verify")
		}
		w.try(t, c.status, c.revert, "", "revert")
		if diff := cmp.Diff(c.left, w.registry(t)); diff != "" {
			t.Errorf("%s: after revert:\n%s", c.name, diff)
		}
	}
}

// others may write to the directory of an administrator's journal: what lies there is not believed, and no command of it is run.
func (w *wine) others(t *testing.T) {
	w.begin(t)
	for mode, want := range map[os.FileMode]struct {
		status       int
		restore, set string
	}{
		0o755: {0, `no experiment on a live service has left anything`, `4 objects set`},
		0o777: {1, `ProgramData.hostlab may be written to by S-1-1-0`, `ProgramData.hostlab may be written to by S-1-1-0`},
	} {
		testkit.OK(t, errors.Join(os.MkdirAll(w.journal(), 0o700), os.Chmod(w.journal(), mode)))
		w.try(t, want.status, want.restore, "", "run", "--restore")
		w.try(t, want.status, want.set, "", "set", "PERFEPP=90", "--yes")
		w.begin(t)
	}
}

// kills ends set and revert at each of their changes to the registry, before and after it, and at random moments. What the
// next revert leaves is what there was. With -full there are 200.
func (w *wine) kills(t *testing.T) {
	most, hit, signals := 10, 0, 0
	if *full {
		most = 200
	}
	random := rand.New(rand.NewPCG(19, uint64(most)))
	const changes = 9 // of set: copy, name, activate, and two for each value
	w.begin(t)
	for n := 0; hit < most && n < 2*most && !t.Failed(); n++ {
		at := fmt.Sprintf("%s@%d", []string{"kill", "killed"}[n%2], 1+(n/2*4)%changes)
		if n%4 == 3 {
			at = ""
		}
		ended := w.killed(t, random, at, "set", "PERFEPP=0", "PROCTHROTTLEMIN@ac=100", "--yes")
		hit += ended
		if at == "" {
			signals += ended
		}
		if hit < most && n%3 == 0 {
			hit += w.killed(t, random, fmt.Sprintf("killed@%d", 1+random.IntN(3)), "revert")
		}
		if status, out := w.run(t, "", "revert"); status != 0 {
			t.Errorf("%s: revert: exit status %d:\n%s", at, status, out)
		}
		w.original(t, fmt.Sprintf("kill %d at %q", n, at))
	}
	if hit < most {
		t.Errorf("only %d of %d kills hit", hit, most)
	}
	t.Logf("%d kills, %d of them by a signal: all put back", hit, signals)
}

// killed runs hostlab, which a fault or a signal at a random moment ends. It returns 1 if it was ended so.
func (w *wine) killed(t *testing.T, random *rand.Rand, fault string, args ...string) int {
	t.Helper()
	if fault != "" {
		status, _ := w.run(t, fault, args...)
		return map[bool]int{true: 1}[status == 137]
	}
	cmd := exec.Command(wine64, append([]string{"./hostlab.exe"}, args...)...)
	cmd.Dir, cmd.Env = w.dir, w.environ
	testkit.OK(t, cmd.Start())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("hostlab %q ended by itself: %v", args, err)
		}
		return 0
	case <-time.After(time.Duration(200+random.IntN(700)) * time.Millisecond):
	}
	_ = cmd.Process.Kill()
	if err := <-done; err == nil {
		return 0
	}
	return 1
}

func (w *wine) commands(t *testing.T) {
	w.begin(t)
	w.setCounters(t, "") // none: what the counters tell is judged, too
	type trial struct {
		status  int
		pattern string
		args    string
	}
	list := []trial{
		{0, `windows/amd64`, "version"},
		{0, `GetLogicalProcessorInformationEx`, "facts"},
		{0, `PWR-011.*a setting of Linux`, "check --all"},
		{0, `Nothing to put back`, "revert"},
		{0, `powercfg /setactive`, "export powercfg --role production-db"},
		{3, `counters of Processor Information.*no such counter`, "watch --count 1"},
		{2, `has no command`, "nothing"},
		{0, `lasts over a reboot, until 'hostlab revert'.*hostlab set power_scheme=SCHEME_MIN`, "set --help"},
		{0, `Locked = [1-9]`, "workload scanlock --duration 1s"},
	}
	if *full {
		list = append(list, []trial{
			{0, `GetVolumeInformation`, `facts --path C:\`},
			{0, `"windows"`, "facts --format json"},
			{2, `no Linux`, "facts --save host.txtar"},
			{2, `Linux`, `check --root Z:` + w32(w.dir)},
			{0, `Frequency policy`, "assess --quick --log-dir . --out - --out a.html --out a.json"},
			{0, `Configuration HostlabPower`, "export dsc governor=performance"},
			{2, `connection refused`, "assess --only service --out - --dsn postgres://x@127.0.0.1:1/d --for 1s"},
			{0, `query-degree`, "study list"},
			{2, `no such file`, "study check nothing.toml"},
			{0, `p50`, "workload logcommit"},
			{0, `1\.[0-9]+x`, "predict --workload sap-dialog --policy balanced --load 5%"},
			{0, `Register-ArgumentCompleter`, "completion powershell"},
			{0, `Affinity = 00000002`, "workload scanlock --duration 1s -s cpu:0 -l cpu:1"},
			{0, `Affinity = 00000002`, "workload scanlock --duration 1s -s1 -l2"},
			{0, `Affinity = 00000002`, "workload scanlock --duration 1s -s 0:1 -l 0:2"},
			{2, `not there`, "workload scanlock --duration 1s -s 1:1 -l 0:2"},
			{0, `"acquisitions_per_s"`, "workload scanlock --duration 1s --format json"},
			{0, `Nothing is set`, "verify"},
			{0, `xmlquery`, "study check query-degree"},
			{0, `logcommit`, "workload list"},
			{0, `tx_rate|cpu_s|operations`, "workload null"},
			{0, `2 of at most 2 blocks`, "run log-writer --blocks 2 --out lw --yes"},
			{0, `2 of at most 2 blocks`, "run query-degree --blocks 2 --out qd --yes"},
			{11, `EFFECTS`, "report qd --exit-status"},
			{11, `degree`, "report qd --exit-status --format json"},
			{11, `degree`, "report qd --exit-status --format csv"},
			{11, `degree`, "report qd --exit-status --format markdown"},
			{11, ``, "report qd --exit-status --out qd.html"},
		}...)
	}
	for _, c := range list {
		w.try(t, c.status, c.pattern, "", strings.Fields(c.args)...)
	}
	if *full {
		if b, err := os.ReadFile(filepath.Join(w.dir, "qd.html")); err != nil || !strings.Contains(string(b), "<svg") {
			t.Errorf("report --format html drew nothing: %v", err)
		}
	}
}
