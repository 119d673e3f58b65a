//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/proc"
)

// record is what was seen of a load: a line of the file.
type record struct {
	Load    string
	Time    time.Time
	With    []float64 // s that a transaction took with the cause, in each slice
	Without []float64 // and without it
	Beside  int       // process number of what ran beside
	Taken   float64   // share of the host's CPUs that others took before a slice, at most
	Answers map[string]*answer
	Failed  string // why nothing is known
}

// answer is what one run of assess said.
type answer struct {
	Took   float64 // s
	Text   string  // the verdict
	First  *string // the lever or the setting that it says it puts first; "": none; nil: it does not say
	Head   string  // the first lines of the report
	Levers []lever
	Step   step
}

type lever struct {
	Name, Verdict  string
	Likely, AtMost *float64
	Unseen         bool // it is said what does not show, so that the bound is wide
	Command        string
}

// step is a command that was printed first, and what came of it.
type step struct {
	Command string
	Runs    *bool // nil: none was printed
	Said    string
}

// bench runs loads.
type bench struct {
	hostlab, than string
	lasts         []time.Duration // that assess watches, the first of which decides
	slice         time.Duration
	dir           string
}

// warm is the time before a load is watched.
const warm = 2500 * time.Millisecond

func (b *bench) on(ctx context.Context, l *load, cause bool, r *record, do func(*stage) error) (err error) {
	s := &stage{ctx: ctx, setup: l.of(cause)}
	defer func() { err = errors.Join(err, s.close()) }()
	taken, err := s.taken()
	if err != nil {
		return err
	}
	r.Taken = max(r.Taken, taken)
	if err := s.begin(l.Kind); err != nil {
		return err
	}
	if err := s.wait(warm); err != nil {
		return err
	}
	return do(s)
}

// run watches a load, and measures it with and without its cause in turns.
func (b *bench) run(ctx context.Context, l *load) *record {
	r := &record{Load: l.Name, Time: time.Now().UTC().Truncate(time.Second), Answers: map[string]*answer{}}
	slice := func(s *stage, to *[]float64) error {
		each, err := s.each(b.slice)
		*to = append(*to, each)
		return err
	}
	err := b.on(ctx, l, true, r, func(s *stage) error {
		r.Beside = s.beside
		if err := b.ask(s, l, r); err != nil {
			return err
		}
		if !l.Null() {
			if err := slice(s, &r.With); err != nil {
				return err
			}
		}
		if a := r.Answers[label(b.lasts[0])]; a != nil { // last, as it may take the cause away
			a.Step = b.try(s, l.first(a))
		}
		return nil
	})
	for i := 0; i < 3 && err == nil && !l.Null(); i++ {
		cause, to := i == 1, &r.Without
		if cause {
			to = &r.With
		}
		err = b.on(ctx, l, cause, r, func(s *stage) error { return slice(s, to) })
	}
	if err != nil {
		r.Failed = err.Error()
	}
	return r
}

func label(d time.Duration) string { return fmt.Sprintf("%.0f s", d.Seconds()) }

// other is the label of another build's answers.
const other = "than"

// ask has hostlab watch the service for each length of time, and another build for the first.
func (b *bench) ask(s *stage, l *load, r *record) (err error) {
	for _, d := range b.lasts {
		if r.Answers[label(d)], err = b.assess(s, l, b.hostlab, d, label(d)); err != nil {
			return err
		}
	}
	if b.than != "" {
		r.Answers[other], err = b.assess(s, l, b.than, b.lasts[0], other)
	}
	return err
}

// head is how many lines of a report a hurried reader sees.
const head = 40

func (b *bench) assess(s *stage, l *load, program string, lasts time.Duration, as string) (*answer, error) {
	base := b.base(l, as)
	return b.answer(s.ctx, base, program, "--service", "pid:"+strconv.Itoa(s.pid), "--only", "service", "--for", lasts.String(),
		"--save", base+saved)
}

// saved ends the name of a file that keeps all that was seen of a load.
const saved = ".txtar"

func (b *bench) base(l *load, as string) string {
	return filepath.Join(b.dir, strings.ReplaceAll(l.Name+"."+as, " ", "-"))
}

// again asks the program once more what it says of what was seen.
func (b *bench) again(ctx context.Context, l *load, r *record) error {
	for as, a := range r.Answers {
		base := b.base(l, as)
		now, err := b.answer(ctx, base, b.hostlab, "--from", base+saved)
		if err != nil {
			return err
		}
		now.Took, now.Step = a.Took, a.Step
		r.Answers[as] = now
	}
	return nil
}

// answer runs assess, and keeps its report and document.
func (b *bench) answer(ctx context.Context, base, program string, args ...string) (*answer, error) {
	began := time.Now()
	cmd := exec.CommandContext(ctx, program, slices.Concat([]string{"assess"}, args, []string{"--out", "-", "--out", base + ".json"})...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	var errs bytes.Buffer
	cmd.Stderr = &errs
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, errs.String())
	}
	if err := os.WriteFile(base+".txt", text, 0o600); err != nil {
		return nil, err
	}
	a := &answer{Took: time.Since(began).Seconds()}
	lines := strings.SplitN(string(text), "\n", head+1)
	a.Head = strings.Join(strings.Fields(strings.Join(lines[:min(head, len(lines))], " ")), " ") // words may stand on two lines
	document, err := os.ReadFile(base + ".json")
	if err != nil {
		return nil, err
	}
	return a, a.read(document)
}

// read takes what decides from a document of assess. What else has a bound and a name, such as a setting of the
// server, stands after the levers.
func (a *answer) read(document []byte) error {
	var doc map[string]any
	if err := json.Unmarshal(document, &doc); err != nil {
		return err
	}
	if v, ok := doc["verdict"].(map[string]any); ok {
		a.Text, _ = v["text"].(string)
		name, says := v["first"].(string)
		if _, tells := doc["server"]; says || tells { // a document that tells of the server leaves "first" out for none
			a.First = &name
		}
	}
	levers, _ := doc["levers"].([]any)
	for _, l := range levers {
		if l, ok := l.(map[string]any); ok {
			a.Levers = append(a.Levers, leverOf(l))
		}
	}
	delete(doc, "levers")
	a.others(doc)
	account, _ := doc["time"].(map[string]any)
	parts, _ := account["parts"].([]any)
	for _, p := range parts {
		if p, ok := p.(map[string]any); ok {
			a.Levers = append(a.Levers, partOf(p))
		}
	}
	return nil
}

func (a *answer) others(in any) {
	switch in := in.(type) {
	case []any:
		for _, v := range in {
			a.others(v)
		}
	case map[string]any:
		_, named := in["name"].(string)
		if _, bounded := in["at_most"]; named && bounded {
			a.Levers = append(a.Levers, leverOf(in))
			return
		}
		for _, v := range in {
			a.others(v)
		}
	}
}

// statement is one that changes a setting of a server.
var statement = regexp.MustCompile(`alter system set \w+ = '[^']*'(; select pg_reload_conf\(\))?|set global \w+ = \S+`)

func leverOf(m map[string]any) (l lever) {
	number := func(name string) *float64 {
		if v, ok := m[name].(float64); ok {
			return &v
		}
		return nil
	}
	l.Name, _ = m["name"].(string)
	l.Verdict, _ = m["verdict"].(string)
	l.Likely, l.AtMost = number("likely"), number("at_most")
	unseen, _ := m["unseen"].(string)
	l.Unseen = unseen != ""
	if next, ok := m["next"].(map[string]any); ok {
		l.Command, _ = next["command"].(string)
	}
	if step, ok := m["step"].(string); ok {
		l.Command = statement.FindString(step)
	}
	return l
}

// ofPart begins the name of a part of the service's time among levers.
const ofPart = "part "

// partOf bounds what goes with a part of the service's time, for causes that no lever touches.
func partOf(m map[string]any) lever {
	name, _ := m["name"].(string)
	most, _ := m["share"].(float64)
	if i, ok := m["interval"].([]any); ok && len(i) == 2 {
		if high, ok := i[1].(float64); ok {
			most = high
		}
	}
	return lever{Name: ofPart + name, AtMost: &most}
}

// sessions are files of the scheduler's groups, which a step may name of a session that goes on after the stage: the
// one that the bench runs in.
var sessions = regexp.MustCompile(`/proc/\d+/autogroup`)

// harmless are programs whose commands a step may run on the stage: what they change ends with its processes and
// control groups, or is put back. Of others only their presence is looked at.
var harmless = map[string]bool{"chrt": true, "taskset": true, "renice": true, "echo": true, "psql": true}

// places are files of control groups.
var places = regexp.MustCompile(`/sys/fs/cgroup/\S*`)

// ours reports that a command names no process and no control group but the bench's own: on a host that others use, too,
// a neighbour may be anybody's.
func ours(command string) bool {
	own := proc.Family(os.Getpid())
	session, err := unix.Getsid(0)
	_, files, writes := strings.Cut(command, "| sudo tee ")
	if !writes { // else the first words are what is written
		files = command
	}
	apart := func(r rune) bool { return r == ' ' || r == '/' }
	for _, word := range strings.FieldsFunc(places.ReplaceAllString(files, ""), apart) {
		pid, err2 := strconv.Atoi(word)
		if _, gone := proc.Read(pid); err2 != nil || pid == 0 || gone != nil || slices.Contains(own, pid) || err == nil && pid == session {
			continue
		}
		return false
	}
	for _, at := range places.FindAllString(command, -1) {
		if !strings.Contains(at, "/causes-") {
			return false
		}
	}
	return true
}

// try runs the first step.
func (b *bench) try(s *stage, first *lever) step {
	if first == nil || first.Command == "" {
		return step{}
	}
	t := step{Command: first.Command}
	runs := func(ok bool, said string) step {
		t.Runs, t.Said = &ok, said
		return t
	}
	words := strings.Fields(strings.TrimPrefix(t.Command, "sudo "))
	switch {
	case len(words) == 0:
		return runs(false, "it is empty")
	case harmless[words[0]] && ours(t.Command):
		cmd := exec.CommandContext(s.ctx, "/bin/sh", "-c", t.Command)
		cmd.Env = append(os.Environ(), s.env...)
		out, err := cmd.CombinedOutput()
		for _, file := range sessions.FindAllString(t.Command, -1) {
			if back := os.WriteFile(file, []byte("0"), 0); back != nil && !errors.Is(back, os.ErrNotExist) {
				slog.Error("a session keeps its low priority", "file", file, "error", back)
			}
		}
		if err != nil {
			return runs(false, fmt.Sprintf("%v: %s", err, bytes.TrimSpace(out)))
		}
		return runs(true, string(bytes.TrimSpace(out)))
	case statement.MatchString(t.Command): // each by itself, as typed
		cmd := exec.CommandContext(s.ctx, "/bin/sh", "-c",
			`if [ "$SOCKET" ]; then mariadb --skip-ssl -S "$SOCKET" -u hostlab hostlab; else psql -X -q -v ON_ERROR_STOP=1; fi`)
		cmd.Env, cmd.Stdin = append(os.Environ(), s.env...), strings.NewReader(t.Command+";\n")
		out, err := cmd.CombinedOutput()
		return runs(err == nil, string(bytes.TrimSpace(out)))
	case words[0] == "hostlab" && len(words) > 1 && words[1] == "watch":
		return runs(false, "watch is nobody's remedy")
	case words[0] == "hostlab": // whether it knows the command
		known := append(append([]string{}, words[1:]...), "--help")
		err := exec.CommandContext(s.ctx, b.hostlab, known...).Run()
		return runs(err == nil, "its help: "+fmt.Sprint(err))
	}
	path, err := exec.LookPath(words[0])
	return runs(err == nil, path)
}
