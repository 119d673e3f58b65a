//go:build system

package command

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/proc"
	"hostlab/internal/testkit"
	"hostlab/internal/workload"
	"hostlab/internal/workload/workloadtest"
)

// program makes this test binary play a benchmark: its value names which.
const program = "HOSTLAB_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if name := os.Getenv(program); name != "" {
		play(name, os.Args[1:])
		os.Exit(0)
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector has programs end a second late
	os.Exit(m.Run())
}

// self is the run and env of a program played by this binary.
func self(t testing.TB, name string, args ...string) map[string]any {
	t.Helper()
	exe := testkit.Must(os.Executable())(t)
	return map[string]any{"run": append([]string{exe}, args...), "env": map[string]string{program: name}}
}

type trial struct {
	given map[string]any
	picks []workload.Pick
	req   workload.Request
	dir   string
}

func (c trial) run(t testing.TB, ctx context.Context) (workload.Sample, error) {
	t.Helper()
	v := testkit.Must(workload.Check(Workload{}.Describe(), c.given))(t)
	if c.dir == "" {
		c.dir = t.TempDir()
	}
	work := t.TempDir()
	s, err := Workload{}.Open(ctx, workload.Config{Params: v, Picks: c.picks, Dir: c.dir, Work: work})
	if err != nil {
		return workload.Sample{}, err
	}
	defer s.Close()
	c.req.Params = v
	got, err := s.Run(ctx, c.req)
	if left, rerr := os.ReadDir(work); rerr != nil || len(left) > 0 {
		t.Errorf("left in the work directory: %v, %v", left, rerr)
	}
	return got, err
}

func TestContract(t *testing.T) {
	workloadtest.Contract(t, Workload{}, workloadtest.Config{
		Params: self(t, "print", `{{"seed": {seed}, "level": "{disk}"}`, "{out}"),
		Long:   self(t, "hang"),
		Levels: map[string]string{"disk": "a"},
		Picks: []workload.Pick{{Name: "seed", From: "json:$.seed"}, {Name: "again", From: "wall", Scale: 1000},
			{Name: "none", From: "json:$.none"}},
		Operations: 1,
		Work:       workloadtest.Responses("seed"),
	})
}

func TestMeasures(t *testing.T) {
	got, err := trial{given: self(t, "burn", "100ms")}.run(t, t.Context())
	testkit.OK(t, err)
	v := got.Values
	if v["cpu"] < 0.09 || v["wall"]*float64(runtime.NumCPU()) < 0.09 || math.Abs(v["user"]+v["system"]-v["cpu"]) > 1e-9 || v["cpu"] > 2 {
		t.Errorf("100 ms of CPU time: %v", v)
	}
	got, err = trial{given: self(t, "memory", strconv.Itoa(200<<20))}.run(t, t.Context())
	testkit.OK(t, err)
	if rss := got.Values["max_rss"]; rss < 200<<20 || rss > 1<<30 { // the race detector takes as much again
		t.Errorf("200 MiB touched: %v, %v", rss, got.Missing)
	}
	// What the kernel makes of a small program is our own size.
	hog := make([]byte, 64<<20)
	for i := 0; i < len(hog); i += 4096 {
		hog[i] = 1
	}
	got, err = trial{given: map[string]any{"run": []string{"true"}}}.run(t, t.Context())
	if err != nil || hog[0] != 1 {
		t.Fatal(err)
	}
	if why := got.Missing["max_rss"]; !strings.Contains(why, "hostlab's own peak") {
		t.Errorf("the memory of true(1): %v, %q", got.Values["max_rss"], why)
	}
}

func TestTemplates(t *testing.T) {
	dir := t.TempDir()
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "in.b"), []byte("from stdin"), 0o600))
	c := trial{given: self(t, "show", "-{level}", "{{{level}}", "{seed}", "{ramp}", "a}b", "{out}"), dir: dir,
		req: workload.Request{Levels: map[string]string{"level": "b"}, Seed: 9}}
	c.given["env"].(map[string]string)["SHOWN"] = "{level}{level}"
	c.given["stdin"] = "in.{level}"
	c.picks = []workload.Pick{{Name: "ok",
		From: `regex:args=-b {b} 9 0s a}b env=bb stdin=from stdin dir=true out=true (1)`}}
	got := testkit.Must(c.run(t, t.Context()))(t)
	testkit.Is(t, 1, got.Values["ok"], "filled in", got.Missing)
}

// A ramp runs the program again and again, is no part of the responses, and
// precedes the first run alone.
func TestRamp(t *testing.T) {
	for ramp := 100 * time.Millisecond; ; ramp *= 4 {
		log := filepath.Join(t.TempDir(), "log")
		given := self(t, "append", log)
		given["ramp"] = ramp.String()
		v := testkit.Must(workload.Check(Workload{}.Describe(), given))(t)
		s := testkit.Must(Workload{}.Open(t.Context(), workload.Config{Params: v, Dir: t.TempDir(), Work: t.TempDir()}))(t)
		run := func() (starts int, beside time.Duration) {
			began := time.Now()
			got, err := s.Run(t.Context(), workload.Request{Params: v})
			took := time.Since(began)
			if err != nil || got.Operations != 1 {
				t.Fatalf("%d operations, %v", got.Operations, err)
			}
			b := testkit.Must(os.ReadFile(log))(t)
			return len(b), took - time.Duration(got.Values["wall"]*1e9)
		}
		first, beside := run()
		if beside < ramp-time.Microsecond {
			t.Errorf("a ramp of %v counts: the run took only %v more than its wall", ramp, beside)
		}
		if second, _ := run(); second != first+1 {
			t.Errorf("the program ran %d times for the second run", second-first)
		}
		if first >= 3 {
			return
		}
		if ramp > 10*time.Second { // a slow host starts few
			t.Fatalf("the program ran %d times for the first run, in %v", first, ramp)
		}
	}
}

// The processes of the host are looked through only where some of the program's
// are left.
func TestNothingLeft(t *testing.T) {
	calls := 0
	list = func() []proc.Stat { calls++; return proc.All() }
	defer func() { list = proc.All }()
	for range 20 {
		testkit.Must((trial{given: map[string]any{"run": []string{"true"}}}).run(t, t.Context()))(t)
	}
	testkit.Is(t, 0, calls, "processes listed", "times in 20 runs of true(1)")
	pidFile := filepath.Join(t.TempDir(), "pid")
	testkit.Must((trial{given: self(t, "leaves", pidFile)}).run(t, t.Context()))(t)
	if calls == 0 {
		t.Error("processes not listed for a program that left one")
	}
	gone(t, pidFile)
}

// What goes wrong, in one line that says what, where and what to do.
func TestFailures(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), mode))
	}
	write("plain", "text", 0o600)
	write("bare.sh", "echo no first line\n", 0o700)
	write("lost.sh", "#!/no/such/interpreter\n", 0o700)
	run := func(words ...string) map[string]any { return map[string]any{"run": words} }
	with := func(m map[string]any, key string, v any) map[string]any { m[key] = v; return m }
	for name, c := range map[string]struct {
		given map[string]any
		want  string
	}{
		"not in PATH":    {run("gziip-none"), `parameter run: no program "gziip-none" in PATH; check the spelling, or give its path`},
		"beside":         {run("plain"), `write "./plain"`},
		"no such file":   {run("./none"), "no program " + filepath.Join(dir, "none") + "; relative paths start at " + dir},
		"not executable": {run("./plain"), "may not be executed; chmod +x"},
		"no interpreter": {run("./lost.sh"), "the interpreter in its first line"},
		"no first line":  {run("./bare.sh"), "a script needs a first line"},
		"no program":     {run(""), "names no program"},
		"unknown name":   {run("echo", "{sede}"), "{sede} is no factor and no parameter; did you mean {seed}?"},
		"not closed":     {run("echo", "{seed"), "is not closed"},
		"no stdin": {with(run("cat"), "stdin", "none.txt"), "cannot open " + filepath.Join(dir, "none.txt") +
			": no such file"},
		"no dir": {with(run("cat"), "dir", "none"), filepath.Join(dir, "none") + " is not a directory"},
		"fails": {self(t, "fail", "3", "", "----", "cannot open table: no such thing", "more"),
			"exit status 3: cannot open table: no such thing"},
		"python": {self(t, "fail", "1", "Traceback (most recent call last):", "  File x", "ValueError: bad"),
			"exit status 1: ValueError: bad"},
		"fails, silently": {self(t, "fail", "1"), "exit status 1; it printed nothing"},
		"escape sequence": {self(t, "fail", "1", "\x1b[31mred\xff"), "exit status 1: ?[31mred"},
		"signal": {self(t, "signal", "9"),
			"was ended by signal 9 (SIGKILL), as the kernel does when memory runs out"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := trial{given: c.given, dir: dir}.run(t, t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

// The output of a run that failed can be had whole.
func TestFailureKeepsOutput(t *testing.T) {
	_, err := trial{given: self(t, "fail", "1", "first", "second")}.run(t, t.Context())
	f, ok := errors.AsType[*workload.Failure](err)
	if !ok || string(f.Stderr) != "first\nsecond\n" || string(f.Stdout) != "" {
		t.Errorf("%#v", err)
	}
}

func TestHangEnds(t *testing.T) {
	for _, how := range []string{"hang", "deaf", "hang-tree"} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		began := time.Now()
		_, err := trial{given: self(t, how)}.run(t, ctx)
		cancel()
		if d := time.Since(began); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s ended after %v with %v", how, d, err)
		}
	}
}

// What a program leaves running is ended, however far it went from it, and the run is
// marked.
func TestLeavesRunning(t *testing.T) {
	script := func(text string) func(string) map[string]any {
		return func(pidFile string) map[string]any {
			return map[string]any{"run": []string{"sh", "-c", "echo x=1; " + text, pidFile}}
		}
	}
	const asleep = "; until grep -q sleep /proc/$(cat $0)/comm; do :; done" // not setsid or sh any more
	const daemon = "left a process running (sleep, in a session of its own), which was ended"
	for name, c := range map[string]struct {
		given func(pidFile string) map[string]any
		want  string
	}{
		"holds the output": {func(f string) map[string]any { return self(t, "leaves", f) },
			"left a process running (command.test), which was ended"},
		"daemon with output": {func(f string) map[string]any { return self(t, "leaves-daemon", f) },
			"in a session of its own"},
		"daemon": {script(`setsid sleep 300 >/dev/null 2>&1 & echo $! > $0` + asleep), daemon},
		"forks twice": {script(
			`(setsid sh -c 'echo $$ > "$0"; exec sleep 300' $0 >/dev/null 2>&1 &) ; while [ ! -s $0 ]; do :; done` + asleep), daemon},
		"without environment": {script(
			`env -i setsid sh -c 'echo $$ > "$0"; exec sleep 300' $0 >/dev/null 2>&1 & while [ ! -s $0 ]; do :; done` + asleep), daemon},
		"as another user": {script(`: > $0; chmod 666 $0; chmod 711 $(dirname $0) $(dirname $(dirname $0)); setsid setpriv --reuid 54321 --clear-groups sh -c 'echo $$ > "$0"; exec sleep 300' $0 >/dev/null 2>&1 & while [ ! -s $0 ]; do :; done` + asleep), daemon},
		"deaf":            {script(`setsid sh -c 'trap "" TERM; echo $$ > "$0"; while :; do sleep 1; done' $0 >/dev/null 2>&1 & while [ ! -s $0 ]; do :; done`), "in a session of its own"},
		"a group of its own": {script(`exec bash -mc 'sleep 300 >/dev/null 2>&1 & echo $! > "$0"; until grep -q sleep /proc/$!/comm; do :; done' $0`),
			"left a process running (sleep), which was ended"},
		"child of a daemon": {script(`setsid sh -c 'setsid sleep 300 & echo $! > "$0"; wait' $0 >/dev/null 2>&1 & while [ ! -s $0 ]; do :; done` + asleep), "left 2 processes running (sh, in a session of its own, sleep, in a session of its own), which were ended"},
		"stopped":           {script(`setsid sleep 300 >/dev/null 2>&1 & echo $! > $0` + asleep + `; kill -STOP $!`), daemon},
		// sh, or sleep already
		"in the fork's moment": {script(`sleep 300 >/dev/null 2>&1 & echo $! > $0`), "left a process running (s"},
	} {
		t.Run(name, func(t *testing.T) {
			pidFile := filepath.Join(t.TempDir(), "pid")
			began := time.Now()
			got, err := trial{given: c.given(pidFile), picks: []workload.Pick{{Name: "x", From: "regex:x=(.*)"}}}.run(t,
				t.Context())
			took := time.Since(began)
			if err != nil || got.Values["x"] != 1 {
				t.Errorf("%+v, %v", got, err)
			}
			if text := strings.Join(got.Warnings, "; "); !strings.Contains(text, c.want) ||
				!strings.Contains(got.Contaminated, c.want) {
				t.Errorf("warned %q, marked %q, want %q", text, got.Contaminated, c.want)
			}
			if wall := time.Duration(got.Values["wall"] * 1e9); wall > took-graceLeft {
				t.Errorf("the wait for what was left counts: %v of %v", wall, took)
			}
			gone(t, pidFile)
		})
	}
}

// A daemon that the program itself ends is waited for by its number: it must not stay
// there as a zombie, and is no leftover.
func TestEndsItsDaemon(t *testing.T) {
	got, err := trial{given: map[string]any{"run": []string{"timeout", "20", "sh", "-c",
		`pid=$(setsid sh -c 'sleep 300 >/dev/null 2>&1 & echo $!'); kill $pid; while kill -0 $pid 2>/dev/null; do sleep 0.01; done`}}}.run(t, t.Context())
	if err != nil || len(got.Warnings) > 0 || got.Contaminated != "" {
		t.Errorf("%+v, %v", got, err)
	}
	if zombies := proc.Children(); slices.ContainsFunc(zombies, func(s proc.Stat) bool { return s.Ended() }) {
		t.Errorf("left %v", zombies)
	}
}

func TestFlood(t *testing.T) {
	got := testkit.Must(trial{given: self(t, "flood", strconv.Itoa(1<<30)), picks: []workload.Pick{
		{Name: "last", From: `regex:end=(\d+)`}, {Name: "json", From: "json:$"}, {Name: "first", From: `regex:begin=(\d+)`},
		{Name: "both", From: `regex:=(\d+)`},
	}}.run(t, t.Context()))(t)
	if got.Values["last"] != 2 || got.Values["first"] != 1 || len(got.Warnings) != 2 {
		t.Errorf("values %v, warnings %v", got.Values, got.Warnings)
	}
	if !strings.Contains(got.Missing["json"], "stdout was 1.00 GiB") ||
		!strings.Contains(got.Missing["both"], "first and in the last part") {
		t.Errorf("missing: %v", got.Missing)
	}
	t.Logf("1 GiB in %.2f s", got.Values["wall"])
}

func TestValidate(t *testing.T) {
	w := Workload{}
	v := testkit.Must(workload.Check(w.Describe(), map[string]any{"run": []string{"./b", "{level}", "{disk}"}}))(t)
	cfg := workload.Config{Params: v, Factors: []string{"level"},
		Picks: []workload.Pick{{Name: "p", From: "json:elapsed"}, {Name: "q", From: "wall"}}}
	err := w.Validate(cfg)
	var got []string
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		p, ok := errors.AsType[*workload.ParamError](e)
		if !ok {
			t.Fatal(e)
		}
		got = append(got, p.Name)
	}
	testkit.Is(t, "", cmp.Diff([]string{"run", "p"}, got), err)
	cfg.Factors, cfg.Picks = nil, nil
	if err := w.Validate(cfg); err != nil {
		t.Errorf("where factors are not known: %v", err)
	}
}
