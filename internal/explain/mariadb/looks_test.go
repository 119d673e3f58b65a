package mariadb

import (
	"math"
	"testing"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/testkit"
	"hostlab/internal/waits"
)

// TestDivided: looks that see one thing are divided as the server told, in turns, and what it did not tell may be more.
func TestDivided(t *testing.T) {
	var d divided
	testkit.Is(t, latch, d.next(latch, 1), "the server was not asked")
	commit := shows{explain.LogWait, "Commit"}
	for range 3 {
		d.tell(commit)
	}
	d.tell(latch)
	given := map[shows]int{}
	for range 400 {
		given[d.next(idle, 0.5)]++
	}
	testkit.Is(t, 300, given[commit], "in their proportion")
	testkit.Is(t, 100, given[latch], "in their proportion")
	// Of 4 answers none was another wait: at most 60 % (Clopper and Pearson) of 201 s.
	if most := d.atMost(explain.OtherWaits); math.Abs(most-0.6024*201) > 0.1 {
		t.Errorf("what it told never: at most %g s", most)
	}
	testkit.Is(t, true, d.atMost(explain.LogWait) <= 201, "no more than all")
}

// TestShows: what a thread's system call says of its session, and what only the server knows.
func TestShows(t *testing.T) {
	s := &Source{looks: &looks{}}
	s.looks.woken.tell(shows{explain.OtherWaits, "User sleep"})
	for name, c := range map[string]struct {
		wait waits.Wait
		want explain.PartName
	}{
		"runs": {waits.Wait{Kind: waits.Running}, explain.DatabaseCPU}, "flushes": {waits.Wait{Kind: waits.Sync}, explain.LogWait},
		"writes the log":   {waits.Wait{Kind: waits.Write, On: "/data/ib_logfile0"}, explain.LogWait},
		"writes the index": {waits.Wait{Kind: waits.Write, On: "/data/mysql-bin.index"}, explain.LogWait},
		"writes a page":    {waits.Wait{Kind: waits.Write, On: "/data/shop/t.ibd"}, explain.OtherWaits},
		"reads a page":     {waits.Wait{Kind: waits.Read, On: "/data/shop/t.ibd"}, explain.DataReads},
		"waits for its client, of which the server told nothing": {waits.Wait{Kind: waits.Poll}, explain.Idle},
		"sends":                         {waits.Wait{Kind: waits.Push}, explain.Application},
		"sleeps, as the server told":    {waits.Wait{Kind: waits.Lock}, explain.OtherWaits},
		"a call that nobody knows here": {waits.Wait{Kind: waits.Elsewise}, explain.OtherWaits},
	} {
		testkit.Is(t, c.want, s.shows(c.wait, 1).part, name)
	}
	s.lazy = "innodb_flush_log_at_trx_commit = 0"
	testkit.Is(t, explain.OtherWaits, s.shows(waits.Wait{Kind: waits.Sync}, 1).part, "commits wait for no device")
}

// TestUntold: a commit computes, and waits for a CPU, as far as the server's lists tell; without writes there is none.
func TestUntold(t *testing.T) {
	s := &Source{looks: &looks{last: time.Now(), synced: 1}}
	for range 3 {
		s.looks.running.tell(shows{explain.LogWait, "Commit"})
	}
	s.looks.running.tell(shows{explain.DatabaseCPU, explain.Executing})
	account := func(writes float64) *explain.Account {
		a := &explain.Account{CPU: &explain.CPUTime{Run: 2, Queue: 2},
			Waits: map[explain.PartName]float64{explain.LogWait: writes}}
		s.untold(a)
		return a
	}
	a := account(10)
	testkit.Is(t, 3., a.Within[explain.LogWait], "three of four")
	if most := a.AtMost[explain.LogWait]; most < 4 || most > 5 || !a.Told {
		t.Errorf("told %v, at most %g s, of 1 s of looks and 4 s on CPUs and ready", a.Told, most)
	}
	if a = account(0); len(a.Within) > 0 || a.AtMost[explain.LogWait] != 0 {
		t.Errorf("without writes: %+v", a)
	}
}

// TestLooksNotTaken: threads that may be looked at change nothing where each sample was asked for.
func TestLooksNotTaken(t *testing.T) {
	s := &Source{looks: &looks{}}
	a := s.Account(explain.Growth{Seconds: 10, Values: map[string]int64{"innodb_row_lock_waits": 5,
		"innodb_row_lock_time": 1000, "innodb_data_reads": 7}})
	if len(a.Counted) != 2 || a.Counted[0].From != explain.Executing || !a.Counted[1].Blocked || a.Told {
		t.Errorf("told %v, counted %+v", a.Told, a.Counted)
	}
}
