package settings

import (
	"fmt"
	"strings"

	"hostlab/internal/document"
	"hostlab/internal/screen"
	"hostlab/internal/setting"
)

// Verified lists what was set, and first what is not as it was.
func Verified(sys *setting.System, list []setting.Outcome, left []Left, excused []Accepted,
	failure error) *document.Document {
	d := verified(sys, list, failure, left, excused)
	for _, a := range excused {
		d.Warnings = append(d.Warnings, fmt.Sprintf("%s: accepted (%s): %s; until %s",
			strings.TrimSpace(a.Setting+" "+a.Object),
			a.Check, strings.TrimSuffix(a.Reason, "."), a.Until))
	}
	if len(left) == 0 {
		return d
	}
	settings := d.Answer
	d.Answer = nil
	for _, l := range left {
		d.Answer = append(d.Answer, document.Line{Text: strings.ToUpper(l.Text[:1]) + l.Text[1:] + "."})
	}
	if len(list) > 0 || failure != nil {
		d.Answer = append(d.Answer, settings...)
	}
	return d
}

func verified(sys *setting.System, list []setting.Outcome, failure error, left []Left,
	excused []Accepted) *document.Document {
	data := NewChange(DoVerify, list, failure)
	data.Left, data.Accepted = left, excused
	if len(list) == 0 && failure != nil {
		return newDocument("verify", data, "Nothing is set, as far as the journal says.")
	}
	if len(list) == 0 {
		return newDocument("verify", data, "Nothing is set: no change by hostlab is in force.")
	}
	var good, bad, beside groups
	for _, v := range list {
		kind := kindOf(sys, v.Setting, v.Object)
		read, to := Shown(v.Setting, v.Object, v.Read), Shown(v.Setting, v.Object, v.To)
		switch v.Result {
		case setting.Unchanged:
			as := ", as set"
			if v.Reason != "" { // its reason names the reboot
				as = ", as set; kept over the reboot since"
			}
			good.add(v.Setting, kind, v.Name, to+as)
		case setting.Rounded:
			good.add(v.Setting, kind, v.Name, read+", as "+keeper(v.Setting)+" made of "+to)
		case setting.Moved:
			beside.add(v.Setting, kind, v.Name, textOf(v))
		case setting.Foreign:
			bad.add(v.Setting, kind, v.Name, read+", no longer "+to+": "+v.Reason)
		default:
			bad.add(v.Setting, kind, v.Name, textOf(v))
		}
	}
	n := 0
	for _, g := range bad {
		n += max(1, len(g.names))
	}
	all := screen.Count(len(list)-Tally(list)[setting.Moved], "object")
	text, struck := all+" as set.", ""
	if n > 0 {
		text = fmt.Sprintf("%d of %s not as set.", n, all)
	}
	if Tally(list)[setting.Forgotten] > 0 {
		struck = "'hostlab revert' takes out of the journal what the reboot has ended."
	}
	d := newDocument("verify", data, text, struck)
	caution := func(*group) document.Tone { return document.Caution }
	d.Sections = []document.Section{document.Titled("Not as set", bad.pairs(caution)),
		document.Titled("As set", good.pairs(plainTone)),
		document.Titled("Changed with them by the kernel", beside.pairs(plainTone))}
	return d
}
