package assess

import (
	"strings"
	"testing"

	"hostlab/internal/chain"
	"hostlab/internal/document"
	"hostlab/internal/explain"
	"hostlab/internal/proc"
)

// changing is a minute of 10,000 transactions, each of which has so much of two parts, ms; windows show what the waits ended with.
func changing(part explain.PartName, wait float64, ends map[chain.End]float64) *Minute {
	m := minute(map[explain.PartName]float64{explain.DatabaseCPU: 20, part: 10 * wait})
	m.Connected, m.Report.Wall, m.Report.Transactions = true, 60, 10000
	for i := range 20 {
		uneven := 1 + 0.02*float64(i%3)
		m.Report.Course = append(m.Report.Course, explain.Stretch{Seconds: 3, Transactions: 500,
			Parts: map[explain.PartName]float64{explain.DatabaseCPU: uneven, part: wait * uneven / 2}})
	}
	if ends != nil {
		m.Ends = chain.New(false)
		m.Ends.Own[1] = true
		for i := range 40 {
			shares := map[chain.End]float64{}
			for e, s := range ends {
				shares[e] = s * (1 + 0.1*float64(i%2))
			}
			m.Ends.Windows, m.Ends.Lengths = append(m.Ends.Windows, chain.Shares{part: shares}), append(m.Ends.Lengths, 0.1)
		}
	}
	return m
}

// TestChangeSaysWhy names the end that moved, the program that took the CPUs, and what nobody followed.
func TestChangeSaysWhy(t *testing.T) {
	computes, log := chain.End{Kind: chain.Computing, PID: 1}, chain.End{Kind: chain.Log, PID: 1, Log: true}
	backup := chain.End{Kind: chain.Ready, PID: 7}
	few := changing(explain.Locks, 1, map[chain.End]float64{computes: 0.01})
	many := changing(explain.Locks, 4, map[chain.End]float64{computes: 0.01, log: 0.03})
	queue, none := changing(explain.RunQueue, 3, map[chain.End]float64{backup: 0.03}), changing(explain.RunQueue, 1, map[chain.End]float64{backup: 0.01})
	queue.Takers = []Taker{{Taker: proc.Taker{Name: "backup", PID: 7, Seconds: 54}}}
	for name, c := range map[string]struct {
		before, after *Minute
		want          string
	}{
		"a lock's holder":     {few, many, "Most of that is locks: 3.00 ms of 3.00 ms. In 3.00 ms [3.00 ms, 3.00 ms] of these, their holders waited for the log's device (n 80 windows)."},
		"quicker":             {many, few, "less (n 20, interval of these stretches; how days differ is not in it). Most of that is locks: 3.00 ms of 3.00 ms. That is gone: in 3.00 ms"},
		"a neighbour":         {none, queue, "backup took 0.9 of 4 CPUs, and 0 before. In 2.00 ms [2.00 ms, 2.00 ms] of these, its threads waited for a CPU that other programs had"},
		"nobody followed now": {few, changing(explain.Locks, 4, nil), "What these waits ended with after is not known."},
		"nor before":          {changing(explain.Locks, 1, nil), many, "What these waits ended with before is not known."},
		"the part is all":     {changing(explain.LogWait, 1, nil), changing(explain.LogWait, 4, nil), "Most of that is log wait: 3.00 ms of 3.00 ms."},
	} {
		c.after.Host.CPUs = 4
		if says := c.after.changed(c.before, 0); !strings.Contains(says, c.want) {
			t.Errorf("%s: %s", name, says)
		}
	}
	if c, ok := many.ChangeOf(few, 0); !ok || len(c.Ends) != 1 || c.Ends[0].Of != OfService || c.Ends[0].By.N != 80 || c.Program != nil {
		t.Errorf("%+v", c)
	}
}

// TestEndingsThatSayMore: a wait for a CPU that ends with one has no bar; whose turn that was stands in the table.
func TestEndingsThatSayMore(t *testing.T) {
	backup, computes := chain.End{Kind: chain.Ready, PID: 7}, chain.End{Kind: chain.Computing, PID: 1}
	queue := changing(explain.RunQueue, 3, map[chain.End]float64{backup: 0.03}).endings()
	table, is := queue.Blocks[0].(*document.Table)
	if !is || len(table.Rows) != 1 || table.Rows[0].Cells[1].Text != "a turn on its CPU" || table.Rows[0].Cells[2].Text != "others" {
		t.Errorf("%+v", queue.Blocks)
	}
	locks := changing(explain.Locks, 3, map[chain.End]float64{backup: 0.03, computes: 0.01}).endings()
	if bars, is := locks.Blocks[0].(*document.Bars); !is || len(bars.Rows) != 1 || len(bars.Table.Rows) != 2 {
		t.Errorf("%+v", locks.Blocks)
	}
}
