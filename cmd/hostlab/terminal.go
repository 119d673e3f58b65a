package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"hostlab/internal/document"
	"hostlab/internal/screen"
)

// widest is the width that every screen is laid out for.
const widest = 80

// terminal reports whether w is a terminal, and how wide to write on it: on anything else, nothing is wrapped.
func terminal(w io.Writer) (tty bool, width int) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return false, screen.Endless
	}
	if cols, _, err := term.GetSize(int(f.Fd())); err == nil && cols >= 40 {
		return true, min(cols, widest)
	}
	return true, widest
}

// size is how many rows a terminal shows, and where it folds them: 0 where it does not tell.
func size(w io.Writer) (rows, columns int) {
	if f, ok := w.(*os.File); ok {
		if cols, rows, err := term.GetSize(int(f.Fd())); err == nil && rows > 0 {
			return rows, max(0, cols)
		}
	}
	return document.Rows, 0
}

// colour reports whether to colour what goes to w: a terminal, NO_COLOR unset or
// empty (no-color.org), TERM not dumb.
func colour(w io.Writer) bool {
	tty, _ := terminal(w)
	return tty && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// progress draws one line on a terminal: what runs, how far it is, time left.
// Without a terminal it is silent, so that logs hold results only.
type progress struct {
	w     io.Writer
	tty   bool
	width int
	last  time.Time
	drawn bool
	// total and before are in time of the plan: all steps, and those already done.
	total, before time.Duration
}

func newProgress(w io.Writer, quiet bool, total time.Duration) *progress {
	tty, width := terminal(w)
	return &progress{w: w, tty: tty && !quiet, width: width, total: total}
}

// step returns the callback of one step that was planned to take budget.
func (p *progress) step(title string, budget time.Duration) func(done, total time.Duration) {
	before := p.before
	p.before += budget
	p.draw(title, before, true)
	return func(done, total time.Duration) {
		if total > 0 {
			done = time.Duration(float64(budget) * min(1, float64(done)/float64(total)))
		}
		p.draw(title, before+done, false)
	}
}

func (p *progress) draw(title string, done time.Duration, now bool) {
	if !p.tty || !now && time.Since(p.last) < 250*time.Millisecond {
		return
	}
	p.last = time.Now()
	const cells = 24
	full := min(cells, int(float64(cells)*float64(done)/float64(max(p.total, 1))))
	left := max(0, p.total-done).Round(time.Second)
	bar := strings.Repeat("#", full) + strings.Repeat(".", cells-full)
	p.line(fmt.Sprintf("  [%s] %3d s left  %s", bar, int(left.Seconds()), title))
}

// line draws a line in place of the one before.
func (p *progress) line(text string) {
	if p.tty {
		p.drawn = true
		fmt.Fprintf(p.w, "\r\033[K%.*s", p.width-1, text)
	}
}

func (p *progress) clear() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\033[K")
		p.drawn = false
	}
}
