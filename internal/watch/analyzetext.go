package watch

import (
	"cmp"
	"fmt"
	"time"

	"hostlab/internal/document"
	"hostlab/internal/screen"
)

func (a *Answer) Document() *document.Document {
	tone := document.Caution
	if a.Verdict == Even {
		tone = document.Good
	}
	var missing []string
	for _, u := range a.Unknown {
		missing = append(missing, u.What+": "+u.Why)
	}
	over, rows := "After the load began", a.Windows
	if len(rows) == 0 {
		over, rows = "In the whole record", []Window{a.Whole}
	}
	return &document.Document{Name: "watch", Title: "Load after a quiet time on " + a.host(), When: a.From,
		Answer: []document.Line{{Text: a.headline(), Tone: tone}}, Warnings: a.Warnings, Data: a,
		Sections: []document.Section{document.Titled("Record", a.record()), document.Titled(over, table(rows)),
			document.Titled("Pictures", a.figures()...),
			document.Titled("What it shows", document.Points(a.findings()...)),
			document.Titled("How to read it", document.Points(a.readings()...)),
			document.Titled("Not in the record", document.Quiet.Points(missing...))}}
}

// Section is the answer as a part of a report on that time. Where the time has no night and morning, it tells of all of
// it.
func (a *Answer) Section() document.Section {
	const title = "How evenly the CPUs were used"
	if a.Decided() {
		return document.Titled(title, document.Line{Text: a.headline()}, table(a.Windows), document.Points(a.findings()...),
			document.Points(a.readings()...))
	}
	w := a.Whole
	if w.Spread == nil || w.Spread.Blocks < leastBlocks {
		return document.Section{}
	}
	how, next := "as evenly as by chance", "."
	if w.Spread.uneven() {
		how = "unevenly"
		next = ". Few sessions, affinity, cpusets and bound interrupts look like this, and so do CPUs that sleep. For CPUs that wake slowly, " +
			"ask for a night and its morning, as by --at 22:00 --for 12h."
	}
	return document.Titled(title, document.Line{Text: fmt.Sprintf("The CPUs were used %s: %s%s", how, w.Spread.says(),
		next)},
		table([]Window{w}))
}

// says sets what the busiest CPUs did beside chance.
func (s *Spread) says() string {
	return fmt.Sprintf("the busiest quarter of the CPUs did %s of the work; chance alone gives %s (n = %s of %.0f s)",
		Percent(s.Quarter), s.Chance, screen.Count(s.Blocks, "block"), s.Seconds)
}

func (a *Answer) host() string { return cmp.Or(a.Host, "a host without a name") }

// record says what was recorded, and when it was quiet and when load began.
func (a *Answer) record() document.Pairs {
	out := document.Pairs{{Name: "Record", Value: fmt.Sprintf("%s, %s, %s to %s, %s", a.host(),
		screen.Count(a.CPUs, "CPU"),
		stamp(a.From), stamp(a.To), screen.Count(a.Samples, "sample"))}}
	if a.Missing > 1 {
		out = append(out, document.Pair{Name: "Gaps", Value: fmt.Sprintf("%s missing from the record",
			screen.Lasting(time.Duration(a.Missing*float64(time.Second))))})
	}
	if a.Quiet != nil {
		out = append(out, document.Pair{Name: "Quiet",
			Value: fmt.Sprintf("%s to %s (%s), CPUs %.1f %% busy", stamp(a.Quiet.From),
				stamp(a.Quiet.To), screen.Lasting(a.Quiet.length()), 100*a.Quiet.Busy)})
	}
	if a.Onset != nil && a.First != nil && known(a.First.Busy) {
		out = append(out, document.Pair{Name: "Load", Value: fmt.Sprintf("began at %s; %s in the first %s", stamp(*a.Onset),
			Percent(a.First.Busy), screen.Lasting(a.First.To))})
	}
	return out
}

func (a *Answer) headline() string {
	least := time.Duration(a.Limits.QuietFor) * time.Second
	if lasts := a.To.Sub(a.From); a.Verdict == UndecidedQuiet && lasts < least {
		return fmt.Sprintf(
			"Not decided: the record lasts %s. It takes a quiet time of %s and the load after it, as a night and its "+
				"morning have. Meanwhile the CPUs were %s busy.", screen.Lasting(lasts), screen.Lasting(least),
			Percent(a.Whole.Busy))
	}
	switch a.Verdict {
	case UndecidedQuiet:
		return fmt.Sprintf(
			"Not decided: the record has no quiet time (at least %s below %s busy). Record a night and the morning "+
				"after it, or set --quiet-below and --quiet-for.",
			screen.Lasting(least), Percent(a.Limits.QuietBelow))
	case UndecidedLoad:
		return fmt.Sprintf(
			"Not decided: it was quiet, but no load of %s or more came after that. Record longer, or set --load-above.",
			Percent(a.Limits.LoadAbove))
	case UndecidedShort:
		return "Not decided: the record ends too soon after the load began, or the host has only one CPU. It takes a minute of load, and " +
			"25 minutes to tell the first minutes from later ones."
	}
	f := a.First
	spread := f.Spread.says()
	switch a.Verdict {
	case Even:
		if f.Spread.P <= 0.025 {
			return "After the quiet time the load spread over all CPUs nearly as evenly as by chance: " + spread + "."
		}
		return "After the quiet time the load spread over the CPUs as evenly as by chance: " + spread + "."
	case SlowAtFirst:
		return "After the quiet time the load spread evenly, but busy CPUs were slower at first than later: " + spread + "."
	case UnevenAtFirst:
		return "The load was uneven in the first minutes after the quiet time, but not later: " + spread + "."
	case UnevenAlways:
		return "The load was uneven in the first minutes after the quiet time, and just as uneven later: " + spread + "."
	}
	return "The load was uneven in the first minutes after the quiet time: " + spread +
		". The record ends too early to tell whether that stayed so."
}

// String is a mean with its limits, as shares in %.
func (r Range) String() string {
	return fmt.Sprintf("%.0f %% [%.0f, %.0f]", 100*r.Mean, 100*r.Low, 100*r.High)
}

// table has a row for each stretch of time.
func table(windows []Window) *document.Table {
	t := &document.Table{Columns: document.Headings("minutes", "busy", "busiest quarter did", "by chance (95 %)", "n",
		"idle CPUs", "deep", "clock"),
		Lead: "busiest quarter: what that of the CPUs did of all work; idle CPUs: those below 5 % busy; deep: their time in deep sleep; clock: of busy CPUs, in % of the highest; n: blocks " +
			"of work; -: unknown"}
	for _, w := range windows {
		quarter, chance, n := "-", "-", "0"
		if w.Spread != nil {
			quarter, n = Percent(w.Spread.Quarter), fmt.Sprint(w.Spread.Blocks)
			if w.Spread.Blocks >= leastBlocks {
				chance = w.Spread.Chance.String()
			}
			if w.Spread.uneven() {
				quarter += " uneven"
			}
		}
		t.Add(document.Texts(minutes(w.From)+"-"+minutes(w.To), percentOf(w.Busy), quarter, chance, n, percentOf(w.IdleCPUs),
			percentOf(w.Deep), percentOf(w.Clock))...)
	}
	return t
}

func (a *Answer) findings() (out []string) {
	f := a.First
	if !a.Decided() || f == nil {
		return nil
	}
	if f.Untouch > 0 {
		out = append(out, fmt.Sprintf("%s less than 1 %% busy in the first %s.", were(f.Untouch),
			screen.Lasting(f.To)))
	}
	if f.Offline > 0 {
		out = append(out, fmt.Sprintf("%s taken offline in that time.", were(f.Offline)))
	}
	switch {
	case known(f.Deep) && known(f.Both) && known(f.IdleCPUs):
		out = append(out,
			fmt.Sprintf("Idle CPUs spent %s of their time in deep sleep (%s). In %s of the samples at least a quarter "+
				"of the CPUs slept so while another was 90 %% busy (n = %d).",
				Percent(f.Deep), cmp.Or(a.deepest, "states that take 50 us or more to leave"), Percent(f.Both), f.Samples))
	default:
		out = append(out, "Whether idle CPUs were in deep sleep is unknown: the record has no idle states.")
	}
	switch {
	case !known(f.Clock):
		out = append(out, "Whether busy CPUs were slow is unknown: the record has no frequency of a busy CPU.")
	case a.Later != nil && a.Later.Clock != nil:
		verdict := "not slower than later"
		if a.Slow != nil && *a.Slow {
			verdict = "slower than later"
		}
		out = append(out,
			fmt.Sprintf("Busy CPUs ran at %s of the highest frequency in the first %s, %s: then %s in windows of "+
				"five minutes (n = %d).",
				Percent(f.Clock), screen.Lasting(f.To), verdict, a.Later.Clock, a.Later.Windows))
	default:
		out = append(out,
			fmt.Sprintf("Busy CPUs ran at %s of the highest frequency in the first %s; there is no later time to "+
				"compare with.", Percent(f.Clock), screen.Lasting(f.To)))
	}
	if a.Later != nil {
		out = append(out,
			fmt.Sprintf(
				"In the first %[2]s the busiest quarter did %[1]s percentage points more of the work than by chance; later "+
					"%[3]s [%[4]s, %[5]s] in windows of five minutes (n = %[6]d).",
				points(f.Spread.Excess()), screen.Lasting(f.To), points(a.Later.Excess.Mean), points(a.Later.Excess.Low),
				points(a.Later.Excess.High), a.Later.Windows))
	}
	switch {
	case !known(f.Waited):
		out = append(out,
			"Whether work waited for a CPU in that time is unknown: the record has no pressure data (PSI). Only Linux "+
				"has it, in /proc/pressure.")
	case a.Unneeded != nil && *a.Unneeded:
		out = append(out,
			fmt.Sprintf("Tasks waited for a CPU in %s of the time while %s of the CPUs were idle: the idle ones could "+
				"have helped.", Percent(f.Waited), percentOf(f.IdleCPUs)))
	case f.Waited < waitedShare:
		out = append(out, fmt.Sprintf("Hardly any task waited for a CPU (%s of the time): idle CPUs could not have helped.",
			Percent(f.Waited)))
	default:
		out = append(out, fmt.Sprintf("Tasks waited for a CPU in %s of the time, and %s of the CPUs were idle.",
			Percent(f.Waited), percentOf(f.IdleCPUs)))
	}
	return out
}

func (a *Answer) readings() (out []string) {
	if !a.Decided() {
		return nil
	}
	f := a.First
	few := f.BusyCPUs <= 0.3*float64(a.CPUs) && f.IdleCPUs >= 0.5
	switch a.Verdict {
	case Even:
		if few && (a.Unneeded == nil || !*a.Unneeded) {
			out = append(out, fmt.Sprintf("At any moment only about %.1f CPUs were busy: so few sessions leave the others idle "+
				"under any power policy.", f.BusyCPUs))
		}
		if a.Slow == nil {
			out = append(out,
				"An even load says that all CPUs got work, not that all were fast: for that see the clock, or 'hostlab assess'.")
		}
		return out
	case SlowAtFirst:
		return append(out,
			"A clock that rises only after minutes points to a power policy, a power cap or heat. 'hostlab check' "+
				"names the policy; 'hostlab predict' says what another policy would do.")
	case UnevenAtFirst:
		out = append(out,
			"CPUs that start to work only after minutes may have been parked or in deep sleep under a balanced power policy. "+
				"Sessions that log on one after the other look the same, and so do caches and connection pools that fill. Check whether the "+
				"number of sessions grew as slowly.")
	case Uneven:
		out = append(out,
			"If the other CPUs take their share later, they probably woke slowly (parked cores or deep sleep). If not, the cause "+
				"may be few sessions, affinity masks, cpusets, NUMA placement or interrupts bound to some CPUs. To tell, record at least half "+
				"an hour of load.")
	default:
		out = append(out,
			"A load that stays uneven does not come from CPUs that wake slowly. Possible causes: few sessions (OLTP without "+
				"parallel queries), affinity masks, cpusets, NUMA placement, interrupts bound to some CPUs.")
	}
	if few {
		out = append(out,
			fmt.Sprintf("At any moment only about %.1f of %d CPUs were busy: perhaps no more sessions were active.",
				f.BusyCPUs, a.CPUs))
	}
	if a.Unneeded != nil && *a.Unneeded {
		out = append(out,
			"Work waited while CPUs were idle. Parked CPUs can cause that, but look first at affinity, cpusets and CPU "+
				"quotas of containers.")
	} else {
		out = append(out,
			"An uneven load alone is no loss and does not prove a power problem. Set the policy to high performance for a "+
				"day, record again and compare: 'hostlab check' names the settings.")
	}
	if a.Steal > 0.05 {
		out = append(out, fmt.Sprintf("The hypervisor took %s of the time (steal): this may explain part of the pattern.",
			Percent(a.Steal)))
	}
	return out
}

// points writes a difference of shares without a minus before nothing.
func points(v float64) string {
	if s := fmt.Sprintf("%.0f", 100*v); s != "-0" {
		return s
	}
	return "0"
}

func percentOf(v float64) string {
	if !known(v) {
		return "-"
	}
	return Percent(v)
}

func minutes(d time.Duration) string {
	if d%time.Minute == 0 || d > 10*time.Minute {
		return fmt.Sprintf("%.0f", d.Minutes())
	}
	return fmt.Sprintf("%.1f", d.Minutes())
}

func were(n int) string {
	if n == 1 {
		return "1 CPU was"
	}
	return fmt.Sprintf("%d CPUs were", n)
}

func stamp(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }
