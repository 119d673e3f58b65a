package document

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"hostlab/internal/testkit"
)

func pageOf(t *testing.T, d *Document) string {
	t.Helper()
	var b bytes.Buffer
	testkit.OK(t, WriteHTML(&b, d))
	return b.String()
}

// A long page has a list of its contents, whose entries lead to its sections, and a way back to the answer. A short one
// has neither.
func TestContents(t *testing.T) {
	long := pageOf(t, sample())
	for _, want := range []string{`<li><a href="#h0">Effects</a></li>`, `<li><a href="#h4">Next</a></li>`,
		`<h2 id="h4">Next</h2>`, `<h2 id="h1">Pictures</h2><a href="#verdict">Back to the answer</a>`} {
		testkit.Has(t, long, want)
	}
	if strings.Contains(long, ">Empty</a>") || strings.Contains(long, ">Short</a>") {
		t.Error("the contents name a section that is not there")
	}
	d := sample()
	d.Sections = d.Sections[:3]
	for _, bad := range []string{`class="contents"`, "Back to the answer"} {
		if strings.Contains(pageOf(t, d), bad) {
			t.Errorf("a short page has %s", bad)
		}
	}
}

// A tab, and the heading, say what was looked at, where and when; the tab says who looked.
func TestTitles(t *testing.T) {
	d := sample()
	d.When = time.Date(2026, 11, 22, 20, 7, 0, 0, time.FixedZone("", 3600))
	page := pageOf(t, d)
	for _, want := range []string{"<title>Governors on db1, 2026-11-22 20:07 &#43;01:00 · hostlab experiment</title>",
		"<h1>Governors on db1 <small>2026-11-22 20:07 &#43;01:00</small></h1>"} {
		testkit.Has(t, page, want)
	}
	d.When, d.Title = time.Time{}, "hostlab set"
	testkit.Has(t, pageOf(t, d), "<title>hostlab set</title>")
}

// Commands are code with a button, in blocks, in sentences and in cells.
func TestCommandsCanBeCopied(t *testing.T) {
	const button = `<button type="button" class="copy js" hidden>Copy</button>`
	d := sample()
	d.Answer = []Line{{Text: `Run "hostlab assess --service pid:7", or 'hostlab settings swappiness'.`}}
	d.Warnings = []string{"`hostlab check` names it"}
	d.Sections[0].Blocks = append(d.Sections[0].Blocks, &Table{Columns: Headings("what", "do"),
		Rows: []Row{{Cells: []Cell{Text("log"), {Text: "hostlab watch", Command: true}}}}})
	page := pageOf(t, d)
	for _, command := range []string{"hostlab assess --service pid:7", "hostlab settings swappiness", "hostlab check",
		"hostlab watch"} {
		code := strings.ReplaceAll(command, "--service", `<span class="whole">--service</span>`)
		if want := `<span class="command"><code>` + code + `</code>` + button; !strings.Contains(page, want) {
			t.Errorf("no %s", want)
		}
	}
	if want := "hostlab export tuned</code></pre>" + button; !strings.Contains(page, want) {
		t.Errorf("no %s", want)
	}
	testkit.Is(t, 5, strings.Count(page, button), "buttons, want 5")
}

// A name of others is no command on the page, wherever it stands: not even one that only looks, where tables and facts quote it.
func TestNamesOfOthersAreNoCommands(t *testing.T) {
	for name, sentence := range map[string]bool{"'hostlab run /tmp/x.toml'": true, "`hostlab set a=1`": true, `"hostlab x"`: true,
		"'hostlab check'": false, "select 'hostlab facts' from t": false} {
		d := sample()
		commands := func() int { return strings.Count(pageOf(t, d), `<span class="command">`) }
		before := commands()
		d.Title, d.About = name, []string{"host " + name}
		table := &Table{Title: name, Columns: Headings(name, name)}
		*table.Add(Text(name, name), Text("1")) = Row{Cells: []Cell{Text(name, name), Text(name)}, Notes: []Line{{Text: "finds " + name}}}
		table.Rows = append(table.Rows, Row{Cells: []Cell{Text("x")}, Across: name})
		d.Sections = append(d.Sections, Titled(name, table, Pairs{{Name: name, Value: name, Source: name, More: []string{name}}}))
		if sentence {
			said := "Limit " + name + ", which took 2 CPUs."
			d.Answer, d.Warnings = []Line{{Text: said}}, []string{said}
			d.Sections = append(d.Sections, Titled("Said", Line{Text: said}, Points(said), Commands{{Why: said, Line: "true"}}))
		}
		if n := commands(); n != before {
			t.Errorf("%s: %d commands more", name, n-before)
		}
	}
}

// No text becomes a command to copy that a shell reads as several, or that does more than look.
func TestPieces(t *testing.T) {
	for text, want := range map[string]string{
		`run "hostlab check x" now`: `run [hostlab check x] now`, `'hostlab facts' and "hostlab watch"`: `[hostlab facts] and [hostlab watch]`,
		`"hostlab check; rm -rf /"`: `"hostlab check; rm -rf /"`, `"hostlab check $(x)"`: `"hostlab check $(x)"`,
		"\"hostlab check\nb\"": "\"hostlab check\nb\"", "'hostlab check --explain CPU-001'": "[hostlab check --explain CPU-001]",
		`"hostlab check' and "hostlab watch"`: `"hostlab check' and [hostlab watch]`,
		`hostlab recommends nothing`:          `hostlab recommends nothing`,
		`the host's "hostlab settings"`:       `the host's [hostlab settings]`, ``: ``, `"hostlab `: `"hostlab `,
		`'hostlab run /tmp/x.toml'`: `'hostlab run /tmp/x.toml'`, `'hostlab assess --from x'`: `'hostlab assess --from x'`,
		`'hostlab checks'`: `'hostlab checks'`, `'hostlab revert --force'`: `'hostlab revert --force'`,
		`'hostlab study show /etc/passwd'`: `'hostlab study show /etc/passwd'`, `'hostlab facts --save x'`: `'hostlab facts --save x'`,
	} {
		got := ""
		for _, p := range pieces(text) {
			if p.Command {
				p.Text = "[" + p.Text + "]"
			}
			got += p.Text
		}
		testkit.Is(t, want, got, text)
	}
}
