package document

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"hostlab/internal/picture"
	"hostlab/internal/screen"
	"hostlab/internal/testkit"
)

// sample has every kind of block, and text that is hostile to each medium.
func sample() *Document {
	table := &Table{
		Title: "Effects", Lead: "Each change against its baseline.",
		Columns: append(Headings("change", "effect", "n", "margin"), Column{Head: "verdict"}), Most: 2,
		Rows: []Row{
			{Cells: []Cell{Text("governor powersave", "against performance"), Number(0.482, "+48.2 %", "[47.1 %, 49.3 %]"),
				Text("20 blocks"), Text("2 %"), {Text: "costs more", Tone: Caution}},
				Notes: []Line{{Text: "The mean is +51 %: some runs stalled.", Tone: Caution}}},
			{Cells: []Cell{Text("thp never")}, Across: "This kernel has no transparent huge pages, so that this level was " +
				"left out of the design."},
			{Cells: []Cell{Text("swappiness 10"), Number(0.001, "+0.1 %", "[-0.4 %, 0.6 %]"), Text("20 blocks"), Text("2 %"),
				{Text: "no practical effect", Tone: Good}}},
		},
	}
	return &Document{
		Name: "experiment", Title: "Governors on db1",
		Answer: []Line{{Text: "The governor powersave costs 48 % more CPU time."}, {Text: "Set performance.", Tone: Quiet}},
		About:  []string{"20 blocks on 22 November 2026."}, Warnings: []string{"other processes took 9 % of the CPUs"},
		Sections: []Section{
			{Title: "Effects", Blocks: []Block{Line{Text: "An effect inside its margin is none."}, table,
				Figure{picture.Figure{Title: "Effects", SVG: picture.HTML("<svg></svg>")}}}},
			{Title: "Pictures", Blocks: []Block{Figure{picture.Figure{Title: "Runs", SVG: picture.HTML("<svg></svg>")}}}},
			{Title: "Host", Folded: true, Blocks: []Block{Pairs{{Name: "kernel", Value: "6.12",
				Source: "/proc/sys/kernel/osrelease"}, {Name: "a name that is longer than its column", Value: "<b>|`x`\x1b[31m",
				More: []string{"second line"}}}}},
			{Title: "Short", Where: Terminal, Blocks: Lines(Quiet, "Only a terminal shows this.")},
			{Title: "Long", Where: Page, Blocks: []Block{Points("Only a page shows this.", "</script>*_#")}},
			{Title: "Empty"},
			{Title: "Next", Blocks: []Block{Commands{{Why: "to keep it",
				Line: "sudo hostlab set governor=performance\nhostlab export tuned"}}}},
		},
		Footer: "hostlab 1.0", Data: map[string]any{"x": "</script>"},
	}
}

// TestAnswerLast: a text with more lines than its screen has rows ends with its answer, and no other does.
func TestAnswerLast(t *testing.T) {
	write := func(rows int) string {
		var b bytes.Buffer
		testkit.OK(t, WriteText(&b, sample(), TextOptions{Rows: rows}))
		return b.String()
	}
	plain := write(0)
	n := strings.Count(plain, "\n")
	testkit.Is(t, plain, write(n+1), "all of it can be seen")
	const answer = "\nThe governor powersave costs 48 % more CPU time.\nSet performance.\n"
	if got := write(n); got != plain+answer { // a shell's prompt takes the last row
		t.Errorf("got\n%s\nwant this at its end:%s", got, answer)
	}
}

// TestFolded: a terminal folds what is not wrapped, as commands, and colours take no room.
func TestFolded(t *testing.T) {
	for text, want := range map[string]int{"": 0, "\n": 1, "12345\n": 1, "123456\n\n": 3, "12345678901\n": 3,
		"\x1b[1m12345\x1b[0m\n": 1, "\u00b5\u00b5\u00b5\u00b5\u00b5\n": 1} {
		testkit.Is(t, want, Folded(text, 5), text, "takes", "rows")
	}
}

func TestGolden(t *testing.T) {
	for name, write := range map[string]func(*bytes.Buffer) error{
		"80.txt": func(b *bytes.Buffer) error { return WriteText(b, sample(), TextOptions{}) },
		"40.txt": func(b *bytes.Buffer) error { return WriteText(b, sample(), TextOptions{Width: 40}) },
		"md.txt": func(b *bytes.Buffer) error { return WriteMarkdown(b, sample()) },
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			testkit.OK(t, write(&b))
			testkit.Equal(t, "testdata/"+name, b.String())
		})
	}
}

// Each format prints the answer and what a cell holds, or the data; none lets an escape through.
func TestFormats(t *testing.T) {
	for _, f := range Formats {
		var b bytes.Buffer
		if err := f.Write(&b, sample(), TextOptions{}); err != nil {
			t.Fatal(f.Name, err)
		}
		want := []string{"The governor powersave costs 48 % more CPU time.", "48.2 %", "thp never"}
		if f.Name == "json" {
			want = []string{`"x":`}
		}
		for _, part := range want {
			testkit.Has(t, b.String(), part, f.Name)
		}
		if strings.Contains(b.String(), "\x1b") {
			t.Errorf("%s has an escape sequence of the host's text", f.Name)
		}
	}
}

// No line of a terminal is longer than asked, from 40 columns on.
func TestTextFits(t *testing.T) {
	for width := 40; width <= 130; width++ {
		var b bytes.Buffer
		testkit.OK(t, WriteText(&b, sample(), TextOptions{Width: width}))
		for line := range strings.Lines(b.String()) {
			line = strings.TrimRight(line, "\n")
			if n := utf8.RuneCountInString(line); n > width {
				t.Errorf("at %d columns a line has %d: %q", width, n, line)
			}
			if strings.ContainsRune(line, '\x1b') {
				t.Errorf("an escape of the host's: %q", line)
			}
		}
	}
}

// Hostile text stays text on the page, and a page shows what is for pages.
func TestHTML(t *testing.T) {
	var b bytes.Buffer
	testkit.OK(t, WriteHTML(&b, sample()))
	page := b.String()
	for _, want := range []string{"Only a page shows this.", "&lt;b&gt;", "<details class=\"block\">", `data-sort="0.482"`,
		`colspan="4"`, "The mean is &#43;51 %"} {
		testkit.Has(t, page, want)
	}
	for _, bad := range []string{"<b>", "\x1b", "Only a terminal", "ZgotmplZ", ">Empty<"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	testkit.Is(t, 2, strings.Count(page, "</script>"), "script elements end")
}

// No address runs a script or leaves its attribute, whoever wrote it.
func TestHostileAddresses(t *testing.T) {
	for _, address := range []string{"javascript:alert(1)", " javascript:x", "JAVASCRIPT:x", "data:text/html,x",
		"\x01javascript:x", `"><b>`} {
		var b bytes.Buffer
		d := &Document{Sections: []Section{Titled("T",
			&Table{Columns: Headings("a", "b"), Rows: []Row{{Cells: []Cell{{Text: "x", Link: address},
				{Text: "y", Link: address}}}}},
			Links{List: []Link{{Text: "z", URL: address}}}, Form{Action: address}, Line{Text: "l", See: []string{address}})}}
		testkit.OK(t, WriteHTML(&b, d))
		body := b.String()[strings.Index(b.String(), "<main>"):strings.Index(b.String(), "</main>")]
		if text := strings.ToLower(body); strings.Contains(text, `"javascript:`) || strings.Contains(text, `" javascript:`) ||
			strings.Contains(text, `="data:`) || strings.Contains(text, "<b>") {
			t.Errorf("%q: %s", address, text)
		}
	}
}

func TestShorten(t *testing.T) {
	const path = "/sys/devices/system/cpu/online"
	for room, want := range map[int]string{30: path, 29: ".../devices/system/cpu/online", 20: ".../cpu/online",
		10: ".../online", 9: "", 0: "", -5: ""} {
		testkit.Is(t, want, shorten(path, room), room, "characters")
	}
}

// A column is never narrower than the lines that text is broken into.
func TestNarrowColumns(t *testing.T) {
	table := &Table{Columns: Headings("a", "b", "c", "d", "e", "f", "g", "h")}
	row := Row{}
	for range table.Columns {
		row.Cells = append(row.Cells, Text("the file is empty"))
	}
	table.Rows = []Row{row}
	for width := 40; width <= 100; width++ {
		var b bytes.Buffer
		testkit.OK(t, WriteText(&b, &Document{Sections: []Section{{Title: "T", Blocks: []Block{table}}}},
			TextOptions{Width: width}))
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
				t.Fatalf("at %d columns a line has %d: %q", width, n, line)
			}
		}
	}
}

// Where nothing is a terminal, each paragraph, row and command is one line, whole.
func TestPipe(t *testing.T) {
	d := sample()
	long := strings.Repeat("word ", 100) + "end"
	d.Answer = append(d.Answer, Line{Text: long})
	d.Sections = append(d.Sections, Section{Title: "More",
		Blocks: []Block{Points(long), Pairs{{Name: strings.Repeat("name ", 10) + "end", Value: long,
			Source: "/a/" + strings.ReplaceAll(long, " ", "/")}}, Commands{{Why: long, Line: "echo " + long}},
			&Bars{Rows: []Bar{{Name: long, Segments: []Segment{{Name: "a", Value: 1, Fill: '#'}}}}}}})
	var b bytes.Buffer
	testkit.OK(t, WriteText(&b, d, TextOptions{Width: screen.Endless}))
	for line := range strings.Lines(b.String()) {
		if strings.Contains(line, "word") && !strings.HasSuffix(line, "end\n") || strings.Contains(line, "name") &&
			!strings.Contains(line, "word") && !strings.Contains(line, "longer") {
			t.Errorf("broken: %q", line)
		}
	}
	for _, want := range []string{
		"  governor powersave against performance  +48.2 % [47.1 %, 49.3 %]  20 blocks  2 %     costs more\n",
		"swappiness 10 ", // a third row of a table whose terminal shows two
		"\n  # " + long + "\n  echo " + long + "\n",
	} {
		testkit.Has(t, b.String(), want)
	}
}

// A table too wide for its terminal never parts a cell from the name of its row: names stand before each part, or each
// row stands by itself.
func TestWideTables(t *testing.T) {
	cells := func(words string) (r Row) {
		for w := range strings.SplitSeq(words, "|") {
			r.Cells = append(r.Cells, Text(w))
		}
		return r
	}
	for name, table := range map[string]*Table{
		"changes": {Columns: Headings("when", "host", "what", "before", "after"), Rows: []Row{
			cells("2026-11-23 15:08|db001|frequency.policies.policy0.governor|before-000000000001|after-0000000000001"),
			cells("2026-11-23 15:08|db002|frequency.policies.policy0.governor|before-000000000002|after-0000000000002"),
			cells("2026-11-23 15:08|db002|kernel.release|before-000000000003|after-0000000000003")}},
		"the same twice": {Columns: Headings("when", "a", "b"), Rows: []Row{
			cells("2026-11-23 15:08|before-000000000001 of something that is long|after-0000000000001 that is long as well"),
			cells("2026-11-23 15:08|before-000000000001 of something that is long|after-0000000000001 that is long as well")}},
		"named by the first": {Columns: Headings("host", "a", "b", "c", "d", "e"), Rows: []Row{
			cells("db001|before-000000000001|a figure of 20 chars|a figure of 20 chars|a figure of 20 chars|after-0000000000001"),
			cells("db002|before-000000000002|a figure of 20 chars|a figure of 20 chars|a figure of 20 chars|after-0000000000002")}},
	} {
		for width := 40; width <= 200; width++ {
			var b bytes.Buffer
			testkit.OK(t, WriteText(&b, &Document{Sections: []Section{{Title: "T", Blocks: []Block{table}}}},
				TextOptions{Width: width}))
			out := strings.Join(strings.Fields(b.String()), " ")
			for _, r := range table.Rows {
				last := r.Cells[len(r.Cells)-1].Text
				at := strings.Index(out, strings.Fields(last)[0])
				if at < 0 {
					t.Fatalf("%s at %d: %q is not whole in\n%s", name, width, last, b.String())
				}
				// The nearest name before a row's last cell is its own.
				own, other := strings.LastIndex(out[:at], r.Cells[1].Text), -1
				if name == "named by the first" {
					own = strings.LastIndex(out[:at], r.Cells[0].Text)
				}
				for _, o := range table.Rows {
					if key := o.Cells[1].Text; name == "changes" && key != r.Cells[1].Text {
						other = max(other, strings.LastIndex(out[:at], key))
					} else if key := o.Cells[0].Text; name != "changes" && key != r.Cells[0].Text {
						other = max(other, strings.LastIndex(out[:at], key))
					}
				}
				if own < 0 && name != "the same twice" || own < other {
					t.Errorf("%s at %d: %q has the name of another row:\n%s", name, width, last, b.String())
				}
			}
		}
	}
}
