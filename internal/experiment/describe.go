package experiment

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// Outline is what a study does: what it varies and in how many runs, how long it takes, what decides, and what it
// changes on the host.
type Outline struct {
	Study     string            `json:"study"`
	Title     string            `json:"title"`
	File      string            `json:"file"`
	Hash      string            `json:"study_sha256"` // as records have it
	Workload  string            `json:"workload"`
	Factors   []result.Factor   `json:"factors"`
	Absent    []result.Absent   `json:"absent"` // levels that this host does not have
	Responses []result.Response `json:"responses"`
	Least     float64           `json:"least_seconds"` // null: not known before the first block
	Most      float64           `json:"most_seconds"`
	Text      []OutlineRow      `json:"text"`
}

// OutlineRow is a line of it for people. One without a label belongs to the one before.
type OutlineRow struct {
	Label string `json:"label"`
	Text  string `json:"text"`
}

// Describe says what a study does. more are rows to add: a label and its text.
func Describe(s *Study, more ...[2]string) Outline {
	x := Head(s)
	p := Outline{Study: s.Name, Title: s.Title, File: s.File, Hash: x.Study, Workload: s.Workload.Name, Absent: s.Absent,
		Factors: x.Factors, Responses: x.Responses, Least: math.NaN(), Most: math.NaN()}
	if least, most := Duration(s, 0); most > 0 {
		p.Least, p.Most = least.Seconds(), most.Seconds()
	}
	add := func(label string, texts ...string) {
		for _, text := range texts {
			if text != "" {
				p.Text = append(p.Text, OutlineRow{label, text})
				label = ""
			}
		}
	}
	add("Study", s.identity())
	var varies, decides []string
	for _, f := range s.Factors {
		varies = append(varies, f.about())
	}
	add("Varies", varies...)
	if len(s.Absent) > 0 {
		add("Absent", "not on this host: "+result.AbsentText(s.Absent))
	}
	add("Workload", s.workloadText())
	if s.Design.Kind == result.Switchback {
		add("Pairs", s.pairsText())
	} else {
		add("Blocks", s.blocksText())
	}
	if s.Design.Kind == result.Switchback && s.Paced(0) > 0 {
		add("Takes", s.pairsTakeText()...)
	} else {
		add("Takes", s.takes())
	}
	var secondary []string
	for _, r := range s.Responses {
		if r.Primary {
			decides = append(decides, r.Name+": "+marginText(r.Response))
		} else {
			secondary = append(secondary, r.Name)
		}
	}
	add("Decides", decides...)
	add("Compares", cmp.Or(s.contrastText(true), "no primary effect: this host lacks the levels that it compares"))
	if text := s.contrastText(false); text != "" {
		add("", "secondary: "+text)
	}
	if len(secondary) > 0 {
		add("Records", strings.Join(secondary, ", ")+" (secondary)")
	}
	alphas := s.Alphas(s.Design.Looks)
	risks := result.Percent(alphas[0], 2)
	if n := len(alphas); n > 1 {
		risks += " at the first, rising to " + result.Percent(alphas[n-1], 2) + " at the last"
	}
	add("Chance", fmt.Sprintf("of a false effect: %s in all, for %s at %s (%s)", result.Percent(s.Design.Alpha, 2),
		screen.Count(s.Tests(), "primary comparison"), screen.Count(len(s.Design.Looks), "look"), risks))
	if s.Harm != nil {
		add("Harm", s.harmText()...)
	}
	add("Guards", s.Guard.text(s.Workload.Retries, s.doubts()))
	add("Changes", s.changes()...)
	if s.Evidence != result.Measured {
		add("Evidence", string(s.Evidence))
	}
	for _, warning := range s.Warnings() {
		add("Warning", warning)
	}
	for _, r := range more {
		add(r[0], r[1])
	}
	return p
}

func (s *Study) identity() string {
	seed := "seed drawn at the start"
	if s.Seeded || s.Design.Seed != 0 {
		seed = fmt.Sprintf("seed %d", s.Design.Seed)
	}
	text := fmt.Sprintf("%s, sha256 %s, %s", s.File, Hash(s)[:12], seed)
	var set []string
	for _, k := range slices.Sorted(maps.Keys(s.Overrides)) {
		set = append(set, k+"="+s.Overrides[k])
	}
	if len(set) > 0 {
		text += "; the command line sets " + strings.Join(set, ", ")
	}
	return text
}

func (f Factor) about() string {
	var levels []string
	for _, l := range f.Levels {
		text := l
		if d, ok := f.Directories[l]; ok && d.String() == OwnDirectory {
			text += " = the directory of the record"
		} else if ok {
			text += " = " + d.String()
		}
		if l == f.Baseline {
			text += " (baseline)"
		}
		levels = append(levels, text)
	}
	how := map[string]string{KindSetting: "setting " + f.Setting, KindEmulated: "power policies, emulated",
		KindServer: "the server's parameter " + f.Server, KindParameter: "parameter of the workload",
		KindCommands: "by commands",
		KindManual:   "by a person"}[f.Kind]
	if f.Change != result.Online && string(f.Change) != f.Kind {
		how += ", " + map[result.Change]string{result.RestartWorkload: "workload restarted", result.Reboot: "reboot",
			result.Manual: "a person's step"}[f.Change]
	}
	if f.Directories != nil {
		how = "directories"
	}
	if f.Settle > 0 {
		how += ", settles " + screen.Brief(f.Settle)
	}
	return fmt.Sprintf("%s: %s; %s", f.Name, strings.Join(levels, ", "), how)
}

// workloadText names the workload and the parameters that are not at their
// default.
func (s *Study) workloadText() string {
	given := s.parameters()
	var list []string
	for _, p := range s.description().List() {
		if v, ok := given[p.Name]; ok && (p.Required || v != p.Default) {
			list = append(list, p.Name+" = "+v)
		}
	}
	return strings.TrimSuffix(s.Workload.Name+": "+strings.Join(list, "; "), ": ")
}

func (s *Study) blocksText() string {
	cells := combinations(s.Factors)
	text := screen.Count(cells, "cell")
	if len(s.Factors) == 1 {
		text = screen.Count(cells, "level")
	}
	if s.Design.Kind == result.SplitPlot {
		text += fmt.Sprintf("; %s a superblock, %s of each cell in one: %s", screen.Count(s.PlotsPerBlock(), "boot"),
			screen.Count(s.Design.Repeats, "run"), screen.Count(s.RunsPerBlock(), "run"))
	} else {
		text += fmt.Sprintf(": %s a block, in random order", screen.Count(s.RunsPerBlock(), "run"))
	}
	first, last := s.Design.Looks[0], s.Design.Looks[len(s.Design.Looks)-1]
	runs := strconv.Itoa(first * s.RunsPerBlock())
	if last != first {
		runs += " to " + strconv.Itoa(last*s.RunsPerBlock())
	}
	text += fmt.Sprintf("; may stop after %s blocks, so %s runs", s.looksText(), runs)
	if n := s.Workload.WarmUp; n > 0 {
		text += fmt.Sprintf(" and %d to warm up", n)
		if s.Design.Kind == result.SplitPlot {
			text += " after each boot"
		}
	}
	if n := s.Design.Dwell; n > 0 {
		text += fmt.Sprintf(
			"; to conclude \"no practical difference\", it runs the baseline, each level and the baseline "+
				"again %d times in a row", n)
	}
	if n := s.Design.AA; n > 0 {
		text += fmt.Sprintf("; first %s of the baseline with itself (A/A)", screen.Count(n, "pair"))
	}
	if s.Design.Kind == result.SplitPlot {
		text += fmt.Sprintf(", %d to %d boots", first*s.PlotsPerBlock(), last*s.PlotsPerBlock())
	}
	return text
}

// looksText lists the numbers of blocks after which it may stop.
func (s *Study) looksText() string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(s.Design.Looks), "[]"), " ", ", ")
}

func (s *Study) takes() string {
	least, most := Duration(s, 0)
	text := "not known before the first block"
	if most > 0 {
		text = "about " + rough(least)
		if most > least {
			text += " to " + rough(most)
		}
		text += fmt.Sprintf(", at %s a run", screen.Brief(s.Workload.Expect))
		if s.Design.Kind == result.SplitPlot {
			text += ", boots not counted"
		}
		if s.guarded() {
			text += "; more where guards void runs"
		}
	}
	if s.Budget > 0 {
		text += "; no run starts after " + screen.Brief(s.Budget) + " in all"
	}
	return text
}

// rough writes a duration as nobody knows it better.
func rough(d time.Duration) string {
	for _, unit := range []time.Duration{time.Minute, time.Second, time.Millisecond} {
		if d >= 10*unit {
			return screen.Brief(d.Round(unit))
		}
	}
	return screen.Brief(d)
}

func marginText(r result.Response) string {
	better := r.Better + " is better"
	if r.Better == "" {
		better = "neither way is better"
	}
	if r.Compare == result.Difference {
		return fmt.Sprintf("%s; a difference below %s does not matter", better, result.Format(r.Margin, r.Unit))
	}
	return fmt.Sprintf("%s; less than %s %% does not matter", better, strconv.FormatFloat(r.Margin*100, 'g', 4, 64))
}

func (s *Study) contrastText(primary bool) string {
	var list []string
	for _, c := range s.Contrasts {
		if c.Primary != primary {
			continue
		}
		text := c.String()
		if len(c.Factors) == 1 {
			text += " against " + s.Baselines()[c.Factors[0]]
		}
		list = append(list, text)
	}
	const most = 12
	if more := len(list) - most; more > 0 {
		list = append(list[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, "; ")
}

// doubts are the guards that the workload has itself.
func (s *Study) doubts() (list []string) {
	for _, d := range s.description().Doubts {
		list = append(list, "by the workload: "+d)
	}
	return list
}

// guarded reports whether anything can void a run, which is then made again.
func (s *Study) guarded() bool {
	g := &s.Guard
	return g.MaxForeignCPU != nil || g.MaxSteal != nil || g.Throttling || len(g.Fingerprint) > 0 || len(s.doubts()) > 0
}

func (g Guard) text(retries int, own []string) string {
	var list []string
	limit := func(what string, share *float64) {
		if share != nil {
			list = append(list, fmt.Sprintf("%s up to %s %% of all CPUs", what, strconv.FormatFloat(*share*100, 'g', 4, 64)))
		}
	}
	limit("others' CPU", g.MaxForeignCPU)
	limit("steal", g.MaxSteal)
	if g.Throttling {
		list = append(list, "no throttling")
	}
	if len(g.Fingerprint) > 0 {
		list = append(list, "unchanged "+strings.Join(g.Fingerprint, ", "))
	}
	list = append(list, own...)
	if len(list) == 0 {
		return "none; the CPU time that others and the hypervisor took is recorded"
	}
	text := strings.Join(list, "; ") + "; a run that breaks one is run again"
	if g.Mark {
		text += fmt.Sprintf(", up to %s, and then counts, marked as contaminated", screen.Count(retries, "time"))
	}
	return text
}

// changes says what the experiment does to the host beside running its workload.
func (s *Study) changes() (list []string) {
	for _, f := range s.Factors {
		switch f.Kind {
		case KindSetting:
			list = append(list,
				fmt.Sprintf("%s: sets %s before every run and puts every object of it back (journal: hostlab revert)",
					f.Name, f.Setting))
		case KindServer:
			list = append(list,
				fmt.Sprintf("%s: sets %s of the service's server, in memory alone, and puts it back; a restart of the "+
					"server does so too", f.Name, f.Server))
		case KindEmulated:
			whose := "the workload's own"
			if s.Harm != nil {
				whose = "the service's"
			}
			list = append(list, fmt.Sprintf("%s: holds %s processes off their CPUs by signals, and stops that at the end", f.Name,
				whose))
		case KindCommands:
			back := "puts back what " + shown(f.Read) + " printed at the start"
			if f.Restore != nil {
				back = "puts it back by " + shown(f.Restore)
			}
			list = append(list, fmt.Sprintf("%s: runs %s before every run, and %s", f.Name, shown(f.Apply), back))
		case KindManual:
			list = append(list, fmt.Sprintf("%s: asks for %q, and waits", f.Name, f.Manual))
		}
	}
	if list == nil {
		return []string{"no setting of the host; only parameters of the workload vary"}
	}
	return list
}

// shown writes an argument list so that its words stay apart.
func shown(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		if words[i] = a; a == "" || strings.ContainsAny(a, " \t\n\"'\\$") {
			words[i] = strconv.Quote(a)
		}
	}
	return "'" + strings.Join(words, " ") + "'"
}

// Warnings are what is wrong with a study that can be run nevertheless.
func (s *Study) Warnings() (list []string) {
	looks := s.Design.Looks
	if least := s.MinBlocks(looks); len(looks) == 1 && looks[0] < least[0] {
		list = append(list, fmt.Sprintf("%s cannot give a verdict: it takes %d", screen.Count(looks[0], s.Design.Block()),
			least[0]))
	}
	if s.Budget > 0 {
		unlimited := *s
		unlimited.Budget = 0
		if least, _ := Duration(&unlimited, 0); least > s.Budget {
			list = append(list, fmt.Sprintf("the budget of %s is spent before the first look, which takes about %s",
				screen.Brief(s.Budget), rough(least)))
		}
	}
	for _, p := range s.Places {
		list = append(list, p.Cautions...)
	}
	return list
}
