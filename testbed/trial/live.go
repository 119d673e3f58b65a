//go:build linux && amd64

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// experiment is a live experiment that the power cuts fall into: STUDY:BUDGET:PLUG:ORIGINAL.
type experiment struct {
	study string // a key of tried, and the name of its record
	// who pulls it: "host", at some moment at the level; "file", the guest while the level is in the file; "none"
	plug     string
	original string // of the parameter in the file of ALTER SYSTEM; "": none
	boot     string // what this boot gave the kernel's file
}

// tried are the studies: their arguments, what they change and its level.
var tried = map[string]struct {
	args  []string
	file  string // of the kernel; "": the parameter of the server
	level string
}{
	"server": {[]string{"/job/live-server.toml"}, "", "2000"},
	"thp":    {[]string{"/job/live-kernel.toml"}, hugePage + "enabled", "madvise"},
	"read_ahead": {[]string{"/job/live-kernel.toml", "--set", "setting.read_ahead_kb=256"},
		"/sys/block/vda/queue/read_ahead_kb", "256"},
}

func (e *experiment) dir() string { return disk + "/records/" + e.study }

// value is what there is of the parameter when nothing has changed it.
func (e *experiment) value() string {
	if e.original == "" {
		return "0"
	}
	return e.original
}

// live plays experiments on PostgreSQL, one after the other, each to its end or until the plug is pulled. One that has
// a record was cut before: what was must be there again, and it goes on.
func live(args []string) {
	step("begins")
	postmaster()
	step("the server answers")
	var inForce atomic.Value
	running := false
	for _, arg := range args {
		f := strings.Split(arg, ":")
		if len(f) != 4 || tried[f[0]].level == "" {
			cannot("an experiment is STUDY:BUDGET:PLUG:ORIGINAL, not " + arg)
		}
		e := &experiment{study: f[0], plug: f[2], original: f[3]}
		e.boot = chosen(cat(tried[e.study].file))
		how := []string{"--resume"}
		if _, err := os.Stat(e.dir()); err == nil {
			e.afterCut()
		} else {
			begun(e.original)
			how = e.limited(f[1])
		}
		if !running {
			clients(&inForce)
			running = true
		}
		e.play(how, &inForce)
		if failures > 0 {
			return
		}
	}
}

// limited are the arguments of the study, which begins no pair after so long a time.
func (e *experiment) limited(budget string) []string {
	args := tried[e.study].args
	text := strings.Replace(cat(args[0]), "[study]\n", "[study]\nbudget = \""+budget+"\"\n", 1)
	file := "/run/" + e.study + ".toml"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		cannot(err.Error())
	}
	return append([]string{file}, args[1:]...)
}

// afterCut is the next boot: what was there before is there again, or where the cut came while the level was on the
// disk, once the command has run that a unit of systemd runs at boot.
func (e *experiment) afterCut() {
	level, file := tried[e.study].level, tried[e.study].file
	left := "nothing"
	now := func() (string, string) { return statement("show " + parameter), onDisk() }
	inForce, disk := now()
	switch {
	case file == "" && disk == level && inForce == level: // the host judges whether it may be
		left = "level"
	case inForce != e.value() || disk != e.original:
		fail("next boot", "%s is %s, and %q on the disk; it was %q", parameter, inForce, disk, e.original)
	case file != "" && e.boot == level:
		fail("next boot", "%s has %s", file, level)
	}
	had, closed := journals(e)
	line("left", e.study, left, had, closed)
	intended()
	v := hostlab("verify", "--format", "json")
	var named []string
	for _, l := range v.change().Left {
		named = append(named, l.Record)
	}
	for _, o := range v.change().Outcomes {
		line("verified", o.Path, o.From, o.Result)
		if o.Result != "forgotten" && o.Result != "unchanged" {
			fail("verify", "%s of %s is %s: %s", o.Setting, o.Object, o.Result, o.Reason)
		}
	}
	line("note", "verify: exit", v.code)
	if listed := slices.Contains(named, e.dir()); listed == closed {
		fail("registered", "%t, and all is put back: %t", listed, closed)
	}
	// What the unit of systemd runs at boot.
	r := hostlab("run", "--restore")
	if r.code != 0 || strings.Contains(r.out, "Nothing to put back") != closed {
		fail("restore", "exit %d: %s %s", r.code, r.out, r.err)
	}
	if _, closed := journals(e); !closed {
		fail("restore", "the journal does not say that the level is put back")
	}
	e.untouched("restore")
	step("restore: " + r.out + r.err)
	if r := hostlab("verify"); r.code != 0 || strings.Contains(r.out, "experiment") {
		fail("verify", "after restore: exit %d: %s %s", r.code, r.out, r.err)
	}
	line("back", e.study)
	var report any
	if r := hostlab("report", e.dir(), "--format", "json"); json.Unmarshal([]byte(r.out), &report) != nil {
		fail("report", "exit %d: %s %s", r.code, r.out, r.err)
	}
}

// step says what happens, and how many seconds after the machine's start.
func step(what string) { line("note", strings.Fields(cat("/proc/uptime"))[0]+" s", what) }

// untouched requires that the parameter and the kernel's file have no level.
func (e *experiment) untouched(when string) {
	inForce, disk := statement("show "+parameter), onDisk()
	require(when+": the parameter is the original", inForce == e.value() && disk == e.original,
		"%s is %s, and %q on the disk; it was %q", parameter, inForce, disk, e.original)
	if file := tried[e.study].file; file != "" {
		require(when+": the setting is the original", chosen(cat(file)) == e.boot, "%s has %s, and had %s", file, cat(file),
			e.boot)
		require(when+": the settings' journal has ended", !journalLeft(), "it is still there")
	}
}

// journals reads the record's files as they are, and returns how many runs count, and whether every change that the
// journal has was put back.
func journals(e *experiment) (runs int, closed bool) {
	closed = true
	for _, name := range []string{"runs.jsonl", "levels.jsonl"} {
		b, err := os.ReadFile(e.dir() + "/" + name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			fail("record", "%v", err)
		}
		for text := range bytes.Lines(b) {
			if !bytes.HasSuffix(text, []byte("\n")) {
				break // cut
			}
			var op struct{ Op, Factor, Value, Status string }
			if err := json.Unmarshal(text, &op); err != nil {
				fail("record", "%s: %v: %q", name, err, text)
			}
			switch {
			case name == "runs.jsonl" && op.Status == "ok":
				runs++
			case op.Op == "original":
				closed = false
				line("original", op.Factor, op.Value)
			case op.Op == "restored":
				closed = true
			}
		}
	}
	return runs, closed
}

// goesOn is how often an experiment is begun or resumed. It stops by itself where the host is so busy that the guest
// stands still, no run counts, or the server answers too late.
const goesOn = 6

// play runs hostlab until the experiment ends, or until the plug is pulled, and tells the host what it sees.
func (e *experiment) play(args []string, inForce *atomic.Value) {
	done := make(chan struct{})
	defer close(done)
	go e.watch(inForce, done)
	for try := 1; ; try++ {
		cmd := command(append([]string{"run", "--yes", "--out", e.dir()}, args...)...)
		cmd.Env = append(cmd.Env, "TERM=vt100")
		screen, err := terminal(cmd)
		if err != nil {
			cannot(err.Error())
		}
		step(strings.Join(cmd.Args[1:], " "))
		if err := cmd.Start(); err != nil {
			cannot(err.Error())
		}
		if err := cmd.Stderr.(*os.File).Close(); err != nil { // the screen ends with hostlab's
			cannot(err.Error())
		}
		said := tell(e.study, screen)
		err = cmd.Wait()
		runs, closed := journals(e)
		if closed {
			e.untouched("end")
		}
		if err != nil && try < goesOn && failures == 0 {
			step("it stopped: " + said)
			if _, err := os.Stat(e.dir()); err == nil { // a stop before the first run leaves no record
				args = []string{"--resume"}
			}
			continue
		}
		require("end", err == nil && closed, "%v, all put back %t: %s", err, closed, said)
		step("the end; hostlab took CPU time " + (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).String())
		line("end", e.study, runs)
		return
	}
}

// watch tells the host what is in force and what is on the disk, some 50 times a second.
func (e *experiment) watch(inForce *atomic.Value, done chan struct{}) {
	level, file := tried[e.study].level, tried[e.study].file
	was, held, pull := "", onDisk() == level, 1+rand.IntN(2) // the file, since a cut may have left it there
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		select {
		case <-done:
			return
		default:
		}
		now, disk := fmt.Sprint(inForce.Load()), onDisk()
		if file != "" {
			now = chosen(cat(file))
		}
		if disk == level && !held {
			pull--
		}
		held = disk == level
		text := fmt.Sprintf("%t\t%t", now == level, held)
		if ms := time.Since(began).Milliseconds(); text != was || ms%50 < 10 {
			fmt.Printf("at\t%s\t%d\t%s\n", e.study, ms, text)
		}
		was = text
		if held && e.plug == "file" && pull == 0 {
			time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond)
			if err := pullThePlug(); err != nil {
				cannot(err.Error())
			}
		}
	}
}

// shown is how hostlab says on a terminal which run it is at.
var shown = regexp.MustCompile(`(?:pair|block) (\d+)/\d+(?:, run (\d+)/(\d+))?`)

// tell tells the host how many runs hostlab has said to be recorded, and returns what it has said last.
func tell(name string, screen io.Reader) string {
	var last []string
	most := -1
	lines := bufio.NewScanner(screen)
	lines.Split(func(data []byte, end bool) (int, []byte, error) {
		if i := bytes.IndexAny(data, "\r\n"); i >= 0 {
			return i + 1, data[:i], nil
		}
		return 0, nil, nil
	})
	for lines.Scan() {
		if m := shown.FindStringSubmatch(lines.Text()); m != nil {
			block, _ := strconv.Atoi(m[1])
			run, _ := strconv.Atoi(m[2])
			if n := 2*(block-1) + max(run-1, 0); n > most {
				most = n
				line("shown", name, n)
			}
			continue
		}
		if last = append(last, lines.Text()); len(last) > 10 {
			last = slices.Delete(last, 0, 1)
		}
	}
	return strings.Join(last, " ")
}

// terminal gives a command a terminal for its stderr, on which it says what it does, and returns what it says.
func terminal(cmd *exec.Cmd) (io.Reader, error) {
	if err := os.MkdirAll("/dev/pts", 0o755); err != nil {
		return nil, err
	}
	if err := unix.Mount("devpts", "/dev/pts", "devpts", 0, ""); err != nil && !errors.Is(err, unix.EBUSY) {
		return nil, err
	}
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	fd := int(ours.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = errors.Join(unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0),
			unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 25, Col: 200}))
	}
	if err != nil {
		return nil, err
	}
	theirs, err := os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	cmd.Stderr = theirs
	return ours, err
}
