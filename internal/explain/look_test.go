package explain

import (
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hostlab/internal/testkit"
)

// looker is a server whose memory shows what its sessions do, until it does so no longer.
type looker struct {
	*fake
	questions int
	each      time.Duration // of a CPU, that a look takes
	cpu       time.Duration
	until     time.Time
}

func (l *looker) Look(ctx context.Context, until time.Time, mean time.Duration) (shots []Snapshot, ok bool) {
	if !l.seeing() {
		return nil, false
	}
	for time.Now().Before(until) {
		time.Sleep(mean)
		l.cpu += l.each
		shot, _ := busySession(0)
		shot.Seconds = mean.Seconds()
		shot.Sessions = append(shot.Sessions, Session{Part: Idle, Event: "Sleep", Times: 300})
		shots = append(shots, shot)
	}
	return shots, true
}

func (l *looker) seeing() bool { return l.until.IsZero() || time.Now().Before(l.until) }

func (l *looker) Looks() (questions int, cpu float64, ok bool) {
	return l.questions, l.cpu.Seconds(), l.seeing()
}

func (l *looker) Sample(ctx context.Context) ([]Snapshot, error) {
	l.questions++
	return l.fake.Sample(ctx)
}

func (l *looker) Count(ctx context.Context) (Counters, error) {
	l.questions++
	return l.fake.Count(ctx)
}

// Looks that ask nothing are 3,000 a minute, and come more seldom where they take too much; a server that shows nothing
// any more is asked.
func TestLooks(t *testing.T) {
	for name, c := range map[string]struct {
		each, sees   time.Duration
		least, most  int // looks in a minute
		asked, askes int // questions, at least and at most
	}{
		"cheap looks":     {50 * time.Microsecond, 0, 2800, 3200, 25, 35},
		"costly looks":    {time.Millisecond, 0, 170, 260, 25, 35},
		"the memory goes": {50 * time.Microsecond, 30 * time.Second, 1400, 1600, 100, 10000},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &looker{fake: &fake{sample: busySession, count: steady}, each: c.each}
			if c.sees > 0 {
				l.until = time.Now().Add(c.sees)
			}
			r := testkit.Must(Record(t.Context(), l, Options{For: time.Minute}))(t)
			if r.Looks < c.least || r.Looks > c.most || r.Questions < c.asked || r.Questions > c.askes {
				t.Errorf("%s: %d looks, %d questions", name, r.Looks, r.Questions)
			}
			if r.Samples < r.Looks || c.sees == 0 && r.Samples != r.Looks {
				t.Errorf("%s: %d samples of %d looks", name, r.Samples, r.Looks)
			}
			if ran := r.Part(DatabaseCPU).Seconds; math.Abs(ran-60) > 0.5 || c.sees == 0 &&
				(r.Elapsed < 300*60 || r.Elapsed > 304*60 || r.Peak != 1) {
				t.Errorf("%s: %v s of %v, %d at once", name, ran, r.Elapsed, r.Peak)
			}
		})
	}
}

// Samples that tell the ready from the waiting divide what is left beside counted CPU time, whether they were biased to
// one or the other.
func TestToldSamplesDivideTheRest(t *testing.T) {
	for _, running := range []float64{2, 4, 6} { // s; 4 were counted
		var batches []Batch
		for range 20 {
			batches = append(batches, Batch{Wall: 0.5, Snapshots: 25, Seconds: map[Key]float64{
				{Part: DatabaseCPU, Event: OnCPU}: running / 20, {Part: Locks, Event: "Lock:tuple"}: (10 - running) / 40,
				{Part: Application, Event: "Client:ClientRead"}: (10 - running) / 40}})
		}
		elapsed, parts, _, warnings := Decompose(batches,
			Account{Told: true, Log: NoLog(), CPU: &CPUTime{Run: 3, Queue: 1, QueueLow: 1, QueueHigh: 1, Source: "schedstat"}})
		near(t, "elapsed", elapsed, 10)
		for _, p := range parts {
			want := map[PartName]float64{DatabaseCPU: 3, RunQueue: 1, Locks: 3, Application: 3}[p.Name]
			if near(t, string(p.Name), p.Seconds, want); p.Within != 0 {
				t.Errorf("%s brings %v s along", p.Name, p.Within)
			}
			off := (10 - running) / 20 // of what samples say
			if p.Name == Locks && (p.Share.Low > off+1e-9 || p.Share.High < off-1e-9) {
				t.Errorf("samples said %v, the interval is %v to %v", off, p.Share.Low, p.Share.High)
			}
		}
		testkit.Is(t, "", strings.Join(warnings, "; "))
	}
}
