package report

import (
	"strings"
	"testing"
	"time"

	"hostlab/internal/testkit"
)

func TestParseAt(t *testing.T) {
	berlin := testkit.Must(time.LoadLocation("Europe/Berlin"))(t)
	now := time.Date(2026, 10, 25, 9, 30, 0, 0, berlin) // clocks were set back at 3 that night
	for text, want := range map[string][2]string{
		"09:00": {"2026-10-25T09:00:00+01:00"}, "09:31": {"2026-10-24T09:31:00+02:00"}, "01:14:30": {"2026-10-25T01:14:30+02:00"},
		"2026-10-25 04:00": {"2026-10-25T04:00:00+01:00"}, "2026-10-24T02:14": {"2026-10-24T02:14:00+02:00"},
		"2026-10-24T02:14:00Z": {"2026-10-24T04:14:00+02:00"}, "2026-10-24 02:14:05": {"2026-10-24T02:14:05+02:00"},
		"02:14": {"2026-10-25T02:14:00+01:00",
			"On 2026-10-25, clocks showed 02:14 twice. This is the second time, in CET; the first is --at 2026-10-25T02:14:00+02:00."},
		"2026-10-25 02:14": {"2026-10-25T02:14:00+02:00",
			"On 2026-10-25, clocks showed 02:14 twice. This is the first time, in CEST; the second is --at 2026-10-25T02:14:00+01:00."},
		"2026-10-25T02:14:00+01:00": {"2026-10-25T02:14:00+01:00"}, "2026-10-25 03:00": {"2026-10-25T03:00:00+01:00"},
		"2026-03-29 02:14": {"2026-03-29T03:14:00+02:00",
			"On 2026-03-29, clocks were set forward and never showed 02:14. This is from 03:14 CEST on."},
	} {
		got, note, err := ParseAt(text, now)
		if err != nil || got.In(berlin).Format(time.RFC3339) != want[0] || note != want[1] {
			t.Errorf("%s: %v, %q, %v, want %s", text, got.In(berlin), note, err, want)
		}
	}
	early := time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC).In(berlin) // 02:30, for the first time
	if got, note, err := ParseAt("02:14", early); err != nil || got.UTC().Hour() != 0 || !strings.Contains(note, "first time, in CEST") {
		t.Errorf("%v, %q, %v", got, note, err)
	}
	for _, text := range []string{"", "now", "24:00", "2:60", "2026-13-01 00:00", "02:14 yesterday"} {
		if at, _, err := ParseAt(text, now); err == nil {
			t.Errorf("%q: %v", text, at)
		}
	}
}
