package runner

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"hostlab/internal/testkit"
)

func TestParseWindow(t *testing.T) {
	for _, text := range []string{"", "22:00", "22:00-", "22-04", "25:00-04:00", "22:00-22:00", "0:00-24:00", "a-b",
		"22:00-04:00-06:00"} {
		if w, err := ParseWindow(text); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, %v", text, w, err)
		}
	}
}

// What a session records of its window is what the next one reads.
func TestWindowText(t *testing.T) {
	for text, want := range map[string]string{"22:00-4:05": "22:00-04:05", "8:30-24:00": "08:30-00:00", Always: ""} {
		if w, err := ParseWindow(text); err != nil || w.String() != want {
			t.Errorf("%s is written %q, %v", text, w, err)
		}
	}
}

func TestWindow(t *testing.T) {
	zone := testkit.Must(time.LoadLocation("Europe/Berlin"))(t)
	for _, c := range []struct {
		window, now string
		takes, want time.Duration
	}{
		{"22:00-04:00", "2026-01-10 23:00", time.Hour, 0},
		{"22:00-04:00", "2026-01-10 03:00", time.Hour, 0},
		{"22:00-04:00", "2026-01-10 03:30", time.Hour, 18*time.Hour + 30*time.Minute},
		{"22:00-04:00", "2026-01-10 12:00", time.Hour, 10 * time.Hour},
		{"08:00-12:00", "2026-01-10 12:00", time.Minute, 20 * time.Hour},
		{"08:00-12:00", "2026-01-10 08:00", 4 * time.Hour, 0},
		{"22:00-00:00", "2026-01-10 23:30", time.Hour, 22*time.Hour + 30*time.Minute},
		{"22:00-04:00", "2026-03-28 23:00", 5 * time.Hour, 22 * time.Hour}, // the night has an hour less
		{"22:00-04:00", "2026-10-24 23:00", 6 * time.Hour, 0},              // and here one more
	} {
		w := testkit.Must(ParseWindow(c.window))(t)
		now := testkit.Must(time.ParseInLocation("2006-01-02 15:04", c.now, zone))(t)
		testkit.Is(t, c.want, w.wait(now, c.takes), c.window, "at", c.now, c.takes, "waits")
	}
	testkit.Is(t, 0, (Window{}).wait(time.Now(), 48*time.Hour), "always is not always")
}

// Outside of its window an experiment waits with all as it was.
func TestWaitsForItsWindow(t *testing.T) {
	b := newServed(t, steady)
	now := time.Date(2026, 1, 10, 3, 59, 0, 0, time.Local)
	b.cfg.Window, _ = ParseWindow("22:00-04:00")
	waited := 0
	b.cfg.sys.now = func() time.Time { return now }
	watch := b.cfg.Watch
	b.cfg.Watch = func(p Progress) {
		watch(p)
		if p.Last != nil {
			now = now.Add(20 * time.Second)
		}
	}
	b.cfg.sys.sleep = func(ctx context.Context, d time.Duration) error {
		now = now.Add(d)
		if d > time.Hour {
			waited++
			b.putBack()
		}
		return ctx.Err()
	}
	testkit.OK(t, b.run())
	if waited != 1 || !strings.Contains(strings.Join(b.notes, "\n"), "until the window opens, at 2026-01-10 22:00") {
		t.Errorf("waited %d times: %q", waited, b.notes)
	}
	b.complete()
	testkit.Is(t, "22:00-04:00", b.record().Window(), "a resume would run in")
	if spent := b.record().Spent(); spent > time.Hour {
		t.Errorf("it is said to have taken %s", spent)
	}
}

// A run that is made again comes on top of what its pair was to take, and waits too.
func TestRepeatsWaitForTheWindow(t *testing.T) {
	now := time.Date(2026, 1, 10, 3, 50, 0, 0, time.Local)
	failed := false
	b := newServed(t, func(level string) (float64, error) {
		if level == "high" && !failed {
			failed, now = true, now.Add(20*time.Minute)
			return 0, errors.New("the connection was lost")
		}
		if h := now.Hour(); h >= 4 && h < 22 {
			t.Errorf("level %s at %s", level, now.Format("15:04"))
		}
		return 0.010, nil
	})
	b.cfg.Window, _ = ParseWindow("22:00-04:00")
	b.cfg.sys.now = func() time.Time { return now }
	b.cfg.sys.sleep = func(ctx context.Context, d time.Duration) error {
		if now = now.Add(d); d > time.Hour {
			b.putBack()
		}
		return ctx.Err()
	}
	testkit.OK(t, b.run())
	b.complete()
}
