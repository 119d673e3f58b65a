package runner

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hostlab/internal/experiment"
	"hostlab/internal/result/store"
	"hostlab/internal/screen"
)

// Window is when the periods of a live experiment may run, in local time of day: from 22:00 to
// 04:00 is the night. The zero value is always.
type Window struct{ from, to time.Duration }

// Always is how a window is written that never closes.
const Always = "always"

// ParseWindow reads a window such as 22:00-04:00, or Always.
func ParseWindow(text string) (w Window, err error) {
	if text == Always {
		return w, nil
	}
	from, to, ok := strings.Cut(text, "-")
	if ok {
		if w.from, err = timeOfDay(from); err == nil {
			w.to, err = timeOfDay(to)
		}
	}
	switch {
	case !ok || err != nil:
		return w, fmt.Errorf("%q is no window: expected two times of the day, such as 22:00-04:00", text)
	case w.from == w.to:
		return w, fmt.Errorf("%q is empty: it closes when it opens", text)
	}
	return w, nil
}

// String is what ParseWindow reads; "" for always.
func (w Window) String() string {
	if w == (Window{}) {
		return ""
	}
	clock := func(d time.Duration) string { return fmt.Sprintf("%02d:%02d", d/time.Hour, d/time.Minute%60) }
	return clock(w.from) + "-" + clock(w.to)
}

func timeOfDay(text string) (time.Duration, error) {
	t, err := time.Parse("15:04", strings.TrimSpace(text))
	if err != nil && strings.TrimSpace(text) == "24:00" {
		return 0, nil
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, err
}

// Check refuses a window in which not even one pair fits.
func (w Window) Check(st *experiment.Study) error {
	if w == (Window{}) {
		return nil
	}
	lasts, last := w.lasts(), len(st.Design.Looks)-1
	if pair := st.BlockTime(st.Design.Looks[last]-1, 0); pair > lasts {
		return fmt.Errorf("it is open for %s, and a pair of periods takes %s: widen it, or make periods shorter",
			screen.Brief(lasts), screen.Brief(pair))
	}
	return nil
}

// lasts is how long it is open on most days.
func (w Window) lasts() time.Duration {
	if w.to > w.from {
		return w.to - w.from
	}
	return w.to - w.from + 24*time.Hour
}

// wait returns for how long something that takes a while has to wait until it fits.
func (w Window) wait(now time.Time, takes time.Duration) time.Duration {
	if w == (Window{}) {
		return 0
	}
	at := func(day int, clock time.Duration) time.Time { // local days have 23 to 25 hours
		return time.Date(now.Year(), now.Month(), now.Day()+day, int(clock/time.Hour), int(clock/time.Minute%60), 0, 0,
			now.Location())
	}
	for day := -1; day <= 2; day++ {
		opens, closes := at(day, w.from), at(day, w.to)
		if w.to <= w.from {
			closes = at(day+1, w.to)
		}
		if !opens.After(now) && !now.Add(takes).After(closes) {
			return 0
		}
		if opens.After(now) {
			return opens.Sub(now)
		}
	}
	return 0
}

// pairInWindow waits until the next pair fits into the window, with the runs that warm up.
func (s *session) pairInWindow(ctx context.Context) error {
	pair := s.study.BlockTime(s.block, 0)
	takes := max(pair, s.blocksTime(1))
	if !s.warm {
		takes += time.Duration(s.study.Workload.WarmUp) * pair / 2
	}
	// What was measured may have been an unusual pair: one that never fits would be waited for without end.
	_, err := s.inWindow(ctx, max(pair, min(takes, s.cfg.Window.lasts())))
	return err
}

// inWindow waits, with all as it was, until something that takes a while fits into the window, and reports whether
// it had to.
func (s *session) inWindow(ctx context.Context, takes time.Duration) (waited bool, _ error) {
	wait := s.cfg.Window.wait(s.sys.now(), takes)
	if wait == 0 {
		return false, nil
	}
	if err := s.levels.restore(ctx, false); err != nil {
		return true, err
	}
	// It says nothing of how long the experiment takes.
	s.before = s.spent()
	if err := s.store.Journal(store.Entry{Op: store.Stopped, At: s.sys.now(), Boot: s.boot}); err != nil {
		return true, err
	}
	s.note("all is as it was until the window opens, at %s", s.sys.now().Add(wait).Format("2006-01-02 15:04"))
	if err := s.sleep(ctx, wait, "waiting for the window"); err != nil {
		return true, err
	}
	return true, s.start()
}
