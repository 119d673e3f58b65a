package dialog

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/model/burstlog"
)

// What a thread waits for its CPU is idle time of the record and no work.
func TestRecorderLeavesWaitingOut(t *testing.T) {
	const ms = time.Millisecond
	type stretch struct{ from, to, cpu time.Duration }
	for _, c := range []struct {
		name    string
		work    []stretch
		end     time.Duration
		want    []burstlog.Burst
		stalled time.Duration
	}{
		{"alone", []stretch{{10 * ms, 15 * ms, 5 * ms}, {30 * ms, 34 * ms, 4 * ms}}, 40 * ms,
			[]burstlog.Burst{{CPU: 3, At: 0.010, Busy: 0.005, Idle: 0.015}, {CPU: 3, At: 0.030, Busy: 0.004, Idle: 0.006}}, 0},
		{"beside others", []stretch{{10 * ms, 25 * ms, 5 * ms}, {30 * ms, 38 * ms, 4 * ms}}, 40 * ms,
			[]burstlog.Burst{{CPU: 3, At: 0.010, Busy: 0.005, Idle: 0.015}, {CPU: 3, At: 0.030, Busy: 0.004, Idle: 0.006}},
			14 * ms},
		{"a gap too short to tell", []stretch{{10 * ms, 25 * ms, 5 * ms}, {25*ms + shortest/2, 30*ms + shortest/2, 5 * ms}},
			40 * ms,
			[]burstlog.Burst{{CPU: 3, At: 0.010, Busy: 0.01001, Idle: 0.01999}}, 10 * ms},
		{"clocks not read at one moment", []stretch{{10 * ms, 15 * ms, 5*ms + 1}, {20 * ms, 20 * ms, 0}}, 40 * ms,
			[]burstlog.Burst{{CPU: 3, At: 0.010, Busy: 0.005, Idle: 0.005}, {CPU: 3, At: 0.020, Busy: 1e-9, Idle: 0.019999999}},
			0},
		{"no work", nil, 40 * ms, []burstlog.Burst{}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			cpu := time.Hour // of the thread before the run
			used := func() time.Duration { return cpu }
			r, off := recorder{cpu: 3, on: true}, recorder{}
			for _, s := range c.work {
				r.busy(s.from, used)
				r.busy(s.from+1, used) // a slice right after another
				off.busy(s.from, nil)
				cpu += s.cpu
				r.idle(s.to, used)
				off.idle(s.to, nil)
			}
			if diff := cmp.Diff(c.want, r.finish(c.end)); diff != "" || r.stalled != c.stalled {
				t.Errorf("%s waited, want %s; bursts (-want +got):\n%s", r.stalled, c.stalled, diff)
			}
			if got := off.finish(c.end); len(got) > 0 {
				t.Errorf("recorded without being asked to: %v", got)
			}
		})
	}
}

func TestRecordSaysHowMuchWasWaiting(t *testing.T) {
	for _, c := range []struct {
		r        reply
		source   string
		warnings string
	}{
		{reply{HasCPU: true, Stalled: 0.05, Watched: 1},
			"clock; others kept threads from their CPU in 5 % of the record, which counts as idle", ""},
		{reply{HasCPU: true, Stalled: 0.51, Watched: 5},
			"clock; others kept threads from their CPU in 10 % of the record, which counts as idle",
			"in more than 5 % of the record a thread had work while others had its CPU"},
		{reply{HasCPU: false, Watched: 5}, "clock; bursts hold an unknown time that threads waited for a CPU", ""},
	} {
		source, warnings := described(plan{}, c.r)
		if all := strings.Join(warnings, "\n"); !strings.HasSuffix(source, c.source) || (all == "") != (c.warnings == "") ||
			!strings.HasPrefix(all, c.warnings) {
			t.Errorf("%s, %q\nwant %s, %q", source, all, c.source, c.warnings)
		}
	}
}
