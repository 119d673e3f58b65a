package explain

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"hostlab/internal/result"
)

// recorded is a stretch of ten seconds of a server: so many transactions, of which each takes so many seconds of each
// part.
func recorded(transactions int64, each map[PartName]float64) Report {
	r := Report{Vendor: "PostgreSQL", Wall: 10, Samples: 60, Transactions: transactions, Log: NoLog(),
		Sampled: map[string]float64{"a": 1}}
	for _, name := range OfSessions {
		s := each[name] * float64(transactions)
		r.Elapsed += s
		r.Parts = append(r.Parts, Part{Name: name, Seconds: s, Source: "samples"})
	}
	r.Busy = r.Elapsed - each[Idle]*float64(transactions)
	for i := range r.Parts {
		p := &r.Parts[i]
		p.Share = result.Estimate{Value: p.Seconds / r.Elapsed, Low: 0, High: 1, N: 60}
		r.Events = append(r.Events, Event{Name: "event of " + string(p.Name), Part: p.Name, Count: -1, Seconds: p.Seconds,
			Share: p.Share})
	}
	return r
}

// TestMerge adds up hours of stretches whose load and parts vary: nothing is lost, shares are those of the sums, and
// intervals hold the share that was planted.
func TestMerge(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	held, n := 0, 0
	for range 200 {
		var list []Report
		var busy, waited float64
		for range 36 {
			lock := 0.002 * math.Exp(0.3*rng.NormFloat64())
			r := recorded(500+rng.Int64N(1000), map[PartName]float64{DatabaseCPU: 0.003, Locks: lock, Idle: 0.01})
			busy, waited = busy+r.Busy, waited+r.Part(Locks).Seconds
			list = append(list, r)
		}
		m := Merge(list)
		p := m.Part(Locks)
		if math.Abs(m.Busy-busy) > 1e-9 || math.Abs(p.Seconds-waited) > 1e-9 || m.Wall != 360 || m.Samples != 36*60 ||
			math.Abs(p.Share.Value-waited/m.Elapsed) > 1e-12 || len(m.Course) != 36 || m.Sampled["a"] != 36 {
			t.Fatalf("%+v", m)
		}
		sum := 0.0
		for _, p := range m.Parts {
			sum += p.Seconds
		}
		if math.Abs(sum-m.Elapsed) > 1e-9 {
			t.Fatalf("parts add up to %v of %v", sum, m.Elapsed)
		}
		for _, e := range m.Events {
			if got := m.Part(e.Part).Seconds; math.Abs(e.Seconds-got) > 1e-9 {
				t.Fatalf("%s: %v, %v", e.Name, e.Seconds, got)
			}
		}
		if u := m.Part(LogWait).Share; u.Value != 0 || u.High <= 0 || u.High > 0.01 {
			t.Fatalf("never seen: %+v", u)
		}
		true1 := 0.002 * math.Exp(0.045) / (0.013 + 0.002*math.Exp(0.045))
		if n++; p.Share.Low <= true1 && true1 <= p.Share.High {
			held++
		}
	}
	if held < n*90/100 {
		t.Errorf("%d of %d intervals hold what was planted", held, n)
	}
	one := recorded(100, map[PartName]float64{DatabaseCPU: 0.01})
	if m := Merge([]Report{one}); m.Busy != one.Busy || m.Part(DatabaseCPU).Share != one.Part(DatabaseCPU).Share &&
		m.Part(DatabaseCPU).Share.Value != 1 {
		t.Errorf("one: %+v", m)
	}
	unknown := one
	unknown.Transactions = -1
	if m := Merge([]Report{one, unknown, one}); m.Transactions != -1 || m.TransactionsHigh != 0 {
		t.Errorf("transactions: %d, %d", m.Transactions, m.TransactionsHigh)
	}
}

// TestChange compares two hours: a planted rise is found with its part, and none is where there is none.
func TestChange(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	hour := func(cpu float64) Report {
		var list []Report
		for range 36 {
			f := math.Exp(0.1 * rng.NormFloat64())
			list = append(list, recorded(500+rng.Int64N(1000),
				map[PartName]float64{DatabaseCPU: cpu * f, Locks: 0.001 * f, Idle: 0.01}))
		}
		return Merge(list)
	}
	false1, found := 0, 0
	const n = 200
	for range n {
		a, b, c := hour(0.003), hour(0.003), hour(0.0036)
		if x, ok := ChangeOf(&a, &b, 0); !ok || x.Ratio.Low > 1 || x.Ratio.High < 1 {
			false1++
		}
		if x, ok := ChangeOf(&a, &c, 0); ok && x.Ratio.Low > 1 && x.Part == DatabaseCPU && x.By > 0 {
			found++
		}
	}
	if false1 > n*9/100 || found < n*95/100 {
		t.Errorf("%d false, %d found of %d", false1, found, n)
	}
	a, none := hour(0.003), Report{}
	if b := hour(0.0036); true {
		alone, _ := ChangeOf(&a, &b, 0)
		if x, ok := ChangeOf(&a, &b, 0.2); !ok || x.Ratio.Low > 1 ||
			x.Ratio.High-x.Ratio.Low < 2*(alone.Ratio.High-alone.Ratio.Low) {
			t.Errorf("days that differ by 20 %%: %+v", x)
		}
	}
	if _, ok := ChangeOf(&a, &none, 0); ok {
		t.Error("compared with nothing")
	}
	short := recorded(100, map[PartName]float64{DatabaseCPU: 0.01})
	if x, ok := ChangeOf(&short, &a, 0); !ok || x.Ratio.HasInterval() {
		t.Error(fmt.Sprint("of one stretch: ", x))
	}
}
