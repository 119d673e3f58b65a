package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/document"
	"hostlab/internal/lever"
	"hostlab/internal/screen"
)

// Brief reports an assessment on one screen: the answer, where the time went, what could be gained, what to do next,
// what matters besides, and what could not be seen. Files are lines on where all of it is.
func (a *Assessment) Brief(files ...string) *document.Document {
	return document.Brief(func(most int) *document.Document { return a.brief(most, files) })
}

// brief has so many of each thing at most.
func (a *Assessment) brief(most int, files []string) *document.Document {
	d := &document.Document{Name: "assessment", Title: a.title(), When: a.Started,
		Answer: []document.Line{{Text: a.Verdict.Text}},
		About: []string{fmt.Sprintf("%s, %s, %.0f s. %s", a.Host, a.Started.Format("2006-01-02 15:04 -07:00"), a.Seconds,
			written(a))}}
	again := "hostlab check" + lever.Again(a.Role, a.Facts)
	warnings, unseen, found, more := a.Warnings, []string(nil), []string(nil), 0
	for i := range a.Levers {
		if l := &a.Levers[i]; l.Verdict == lever.Unknown {
			unseen = append(unseen, l.Title())
		}
	}
	if m := a.Minute; m != nil {
		d.Sections = m.Brief(a.Levers, most, again)
		if a.Before != nil {
			d.Sections = append(d.Sections, m.Changed(a.Before, a.Days))
		}
		found = m.Tells()
		if m.Report.Hidden {
			missing := document.Points(document.AtMost(most, m.Report.Missing, "thing")...)
			d.Sections = append(d.Sections, document.Titled("Not seen", missing))
		} else {
			more = len(m.Report.Missing)
		}
	} else {
		warnings = slices.Concat(BusyWarnings(a.Runs), warnings)
		d.Sections = lever.Brief(a.Levers, "", most, again, (*lever.Lever).Shown)
	}
	for _, r := range a.Runs {
		if r.Skipped != "" || r.Failed != "" {
			title := cmp.Or(r.Title, r.Probe, "a probe")
			unseen = append(unseen, strings.ToLower(title[:1])+title[1:])
		}
	}
	few := min(3, max(most-2, min(most-1, 1), 0)) // levers and steps matter more
	if few > 0 {
		d.Warnings = document.AtMost(few, warnings, "warning")
	}
	found = slices.DeleteFunc(found, func(s string) bool {
		return strings.Contains(a.Verdict.Text, strings.TrimSuffix(s, "."))
	})
	if list := a.found(); len(list) > 0 && !a.OnlyService {
		f := list[0]
		found = append([]string{fmt.Sprintf("%s, %s: %s%s: %s.", f.ID, f.Severity, f.Title, a.whose(f.ID), f.Detail)}, found...)
	}
	if len(unseen) > 0 && more > 0 {
		unseen = append(unseen, fmt.Sprintf("%d more", more))
	} else if more > 0 {
		unseen = []string{screen.Count(more, "thing")}
	}
	last, title := "--all prints all.", "More"
	if len(unseen) > 0 {
		last = "Not measured: " + strings.Join(unseen, ", ") + ". " + last
	}
	says := document.AtMost(few, found, "finding")
	if few == 0 {
		says = says[:0]
		var rest []string
		if n := len(found); n > 0 {
			says = append(says, lever.Clip(found[0], document.ScreenColumns-4))
			if n > 1 {
				rest = append(rest, screen.Count(n-1, "more finding"))
			}
		}
		if n := len(warnings); n > 0 {
			rest = append(rest, screen.Count(n, "warning"))
		}
		if rest != nil {
			says = append(says, strings.Join(rest, " and ")+".")
		}
	}
	if len(says) > 0 {
		title = "Findings"
	}
	d.Sections = append(d.Sections, document.Titled(title, append([]document.Block{document.Points(says...)},
		document.Lines("", append(slices.Clone(files), last)...)...)...))
	return d
}
