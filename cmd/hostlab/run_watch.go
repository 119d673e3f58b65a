package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"hostlab/internal/analysis"
	"hostlab/internal/experiment/runner"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// runWatch shows where an experiment stands: on a terminal in one line that
// changes, elsewhere in a plain line at each look, so that a log stays short.
type runWatch struct {
	*progress
	quiet bool
	told  map[string]bool // problems of runs
	marks bool            // void runs count after some tries: nobody has to hear of each
}

func newWatch(w io.Writer, quiet bool) *runWatch {
	return &runWatch{progress: newProgress(w, false, 0), quiet: quiet}
}

// show takes one report of the runner.
func (v *runWatch) show(p runner.Progress) {
	switch {
	case p.Note != "":
		v.line("Note: " + p.Note) // said also with --quiet: a person has to act on it
	case p.Say:
		v.tell(p, v.once(p.Last))
	case v.quiet:
	case p.Last != nil && p.Last.Reason != "" && !v.silent(p.Last):
		v.tell(p, "")
	case p.AtLook:
		v.line(lookLine(p))
	case v.tty && (time.Since(v.last) > 200*time.Millisecond || !v.drawn):
		v.draw(p)
	}
}

// tell says what was wrong with a run, each problem once.
func (v *runWatch) tell(p runner.Progress, more string) {
	problem := runner.Problem(p.Last)
	if v.told[problem] {
		return
	}
	if v.told == nil {
		v.told = map[string]bool{}
	}
	v.told[problem] = true
	v.line(runLine(p) + more)
}

// shorten leaves out of an error what it has said before.
func (v *runWatch) shorten(err error) error {
	if h, is := err.(*runner.Hopeless); is && v.told[runner.Problem(h.Last)] { //nolint:errorlint // not one that says more
		return errors.New(h.Short())
	}
	return err
}

// silent reports a run that is spoken of only where the runner says so.
func (v *runWatch) silent(r *result.Run) bool {
	return v.quiet || r.Contaminated != "" || v.marks && r.Status == result.Void
}

// once says that runs like r are not spoken of again.
func (v *runWatch) once(r *result.Run) string {
	if v.silent(r) {
		return "; others like it are not printed"
	}
	return ""
}

// blockWord is what people call a block.
func blockWord(p runner.Progress) string {
	if p.Pairs {
		return "pair"
	}
	return "block"
}

// runLine says what was wrong with the last run.
func runLine(p runner.Progress) string {
	r, block := p.Last, blockWord(p)
	block = strings.ToUpper(block[:1]) + block[1:]
	switch {
	case r.Status == result.WarmUp && r.Contaminated != "":
		return "The warm-up was disturbed: " + r.Contaminated
	case r.Status == result.WarmUp:
		return fmt.Sprintf("The warm-up failed: %s; it is run again", r.Reason)
	case r.Restarted:
		return fmt.Sprintf("%s %d: %s; the %s is run again", block, r.Block+1, r.Reason, blockWord(p))
	case r.Contaminated != "":
		return fmt.Sprintf("%s %d: a run counts and is marked: %s", block, r.Block+1, r.Contaminated)
	}
	what := "a run failed"
	if r.Status == result.Void {
		what = "a run was void"
	}
	return fmt.Sprintf("%s %d: %s: %s; it is run again", block, r.Block+1, what, r.Reason)
}

// line writes a line that stays.
func (v *runWatch) line(text string) {
	v.clear()
	text = screen.Clean(text)
	if !v.tty {
		fmt.Fprintln(v.w, "hostlab: "+text)
		return
	}
	for _, l := range screen.Wrap(text, v.width) {
		fmt.Fprintln(v.w, l)
	}
}

func (v *runWatch) draw(p runner.Progress) {
	v.last = time.Now()
	const cells = 8
	done := float64(p.Block) + float64(p.Done)/float64(max(p.Runs, 1))
	full := min(cells, int(cells*done/float64(max(p.Blocks, 1))))
	line := fmt.Sprintf("  [%s%s] %s %d/%d", strings.Repeat("#", full), strings.Repeat(".", cells-full), blockWord(p),
		p.Block+1,
		p.Blocks)
	if p.Stage != "" && p.Stage != "running" && p.Stage != "block done" {
		line += ", " + p.Stage
	} else {
		line += fmt.Sprintf(", run %d/%d", min(p.Done+1, p.Runs), p.Runs)
	}
	if p.Most >= 0 {
		line += ", " + timeLeft(p.Least, p.Most)
	}
	// The estimate as far as it fits: a number cut in two would be another number.
	if e := headline(p.Analysis); e != "" {
		for _, text := range []string{"  " + e, "  " + effectText(&p.Analysis.Effects[0])} {
			if utf8.RuneCountInString(line+text) < v.width {
				line += text
				break
			}
		}
	}
	v.progress.line(screen.Clean(line))
}

// lookLine says what a look has shown.
func lookLine(p runner.Progress) string {
	s := fmt.Sprintf("%d of at most %d %ss", p.Block, p.Blocks, blockWord(p))
	if p.Analysis != nil {
		s = fmt.Sprintf("%d of at most %d %ss", p.Analysis.Blocks, p.Blocks, blockWord(p))
	}
	if e := headline(p.Analysis); e != "" {
		s += ": " + e
	}
	switch {
	case p.Analysis != nil && p.Analysis.Decided():
		return s + "; decided"
	case p.Most > 0:
		return s + "; " + timeLeft(p.Least, p.Most)
	}
	return s
}

// headline is the first primary effect in a few words.
func headline(a *analysis.Analysis) string {
	if a == nil || len(a.Effects) == 0 {
		return ""
	}
	e := &a.Effects[0]
	if math.IsNaN(e.Low) || math.IsNaN(e.High) {
		return ""
	}
	return fmt.Sprintf("%s %s", e.Contrast, effectText(e))
}

func effectText(e *analysis.Effect) string {
	scale, unit := 100.0, "%"
	if e.Response.Compare == result.Difference {
		scale, unit = 1, e.Response.Unit
	}
	return strings.TrimRight(fmt.Sprintf("%+.3g [%+.3g, %+.3g] %s", scale*e.Value, scale*e.Low, scale*e.High, unit), " ")
}

func timeLeft(least, most time.Duration) string {
	a, b := screen.Lasting(least), screen.Lasting(most)
	if least < 0 || a == b {
		return b + " left"
	}
	return a + " to " + b + " left"
}

// verdicts prints what came out, as report does, which says how to see more.
func verdicts(w io.Writer, dir string) error {
	set, err := loadSet([]string{dir})
	if err != nil {
		return err
	}
	return writeScreen(w, set.Brief())
}

// errNo is a question that was not answered with yes.
var errNo = errors.New("not confirmed")

// askable reports whether there is a person to ask.
func askable(std streams) bool {
	f, ok := std.in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return false
	}
	tty, _ := terminal(std.err)
	return tty
}

// ask asks a question and returns nil for yes, errNo for anything else.
func ask(ctx context.Context, std streams, question string) error {
	fmt.Fprint(std.err, question)
	answer := make(chan string, 1)
	go func() { // reading a terminal cannot be cancelled; the process ends soon after
		line, err := bufio.NewReader(std.in).ReadString('\n')
		if err != nil {
			line = ""
		}
		answer <- line
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(std.err)
		return ctx.Err()
	case line := <-answer:
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return nil
		}
		return errNo
	}
}
