package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"hostlab/internal/document"
	"hostlab/internal/experiment/runner"
	"hostlab/internal/screen"
	"hostlab/internal/setting"
)

func newVerify(std streams) *cobra.Command {
	var (
		at     settingsAt
		format string
	)
	cmd := &cobra.Command{
		Use:   "verify [flags]",
		Short: "Are the settings still as they were set?",
		Long: `verify reads back every object that 'hostlab set' or an experiment has changed
and says which is not as it was left: daemons such as tuned write their own
values, firmware may cap, and a reboot forgets all. A set without an end, as a
kill leaves it, and a damaged journal are named. So is what a live experiment
has left after a power cut. Nothing is written, and root is not needed.

Exit status: 0 all is as it was set (or nothing is), 1 something is not, 2
unusable flag or journal.`,
		Example: `  hostlab verify || hostlab set --role production-db --yes
  hostlab verify --format json | jq '.outcomes[].result'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			sys, dir, err := at.open()
			if err != nil {
				return err
			}
			list, trouble, err := verified(sys, dir, at.machineDir(dir))
			if err != nil {
				return err
			}
			var left []runner.Left
			if at.root == "" {
				if left, err = runner.Leftovers(); err != nil {
					return err
				}
			}
			failure := asError(trouble)
			err = errors.Join(failure, printDocument(std, verification(sys, list, left, failure), format))
			n := tally(list)
			if err == nil && len(left) > 0 || err == nil && n[setting.Unchanged]+n[setting.Rounded]+n[setting.Moved] < len(list) {
				return verdictStatus{exitDrifted}
			}
			return err
		},
	}
	at.flags(cmd, true)
	formatFlag(cmd, &format, formats)
	return cmd
}

// verified verifies the journal of one directory; where nothing is set in it, or it may not be
// read, that of the machine: what root has set is in force for all. Trouble is what is known to be wrong
// with a journal that can be used.
func verified(sys *setting.System, dir, machine string) (list []setting.Outcome, trouble *setting.Problem, _ error) {
	for _, at := range []string{dir, machine} {
		v, err := setting.Look(sys, at)
		switch {
		case errors.Is(err, fs.ErrPermission) && at != machine:
			continue
		case err != nil:
			return nil, nil, err
		case v.Problem() != nil:
			return nil, nil, v.Problem()
		}
		if list, trouble = v.Verify(), v.Trouble(); len(list) > 0 || trouble != nil {
			break
		}
	}
	return list, trouble, nil
}

// asError is what is wrong with a journal; nil for nothing.
func asError(p *setting.Problem) error {
	if p == nil {
		return nil
	}
	return p
}

// verification lists what was set, and first what is not as it was.
func verification(sys *setting.System, list []setting.Outcome, left []runner.Left, failure error) *document.Document {
	d := verifiedSettings(sys, list, failure, leftBehind(left))
	if len(left) == 0 {
		return d
	}
	settings := d.Answer
	d.Answer = nil
	for _, l := range left {
		text := leftText(l)
		d.Answer = append(d.Answer, document.Line{Text: strings.ToUpper(text[:1]) + text[1:] + "."})
	}
	if len(list) > 0 || failure != nil {
		d.Answer = append(d.Answer, settings...)
	}
	return d
}

func verifiedSettings(sys *setting.System, list []setting.Outcome, failure error, left []leftJSON) *document.Document {
	data := change("verify", list, failure)
	data.Left = left
	if len(list) == 0 && failure != nil {
		return settingsReport("verify", data, "The journal names no change. Lines of the journal are missing.")
	}
	if len(list) == 0 {
		return settingsReport("verify", data, "Nothing is set: no change by hostlab is in force.")
	}
	var good, bad, beside groups
	for _, v := range list {
		kind := kindOf(sys, v.Setting, v.Object)
		read, to := shown(v.Setting, v.Object, v.Read), shown(v.Setting, v.Object, v.To)
		switch v.Result {
		case setting.Unchanged:
			good.add(v.Setting, kind, v.Name, to+", as set")
		case setting.Rounded:
			good.add(v.Setting, kind, v.Name, read+", as the kernel made of "+to)
		case setting.Moved:
			beside.add(v.Setting, kind, v.Name, outcomeText(v))
		case setting.Foreign:
			bad.add(v.Setting, kind, v.Name, read+", no longer "+to+": "+v.Reason)
		default:
			bad.add(v.Setting, kind, v.Name, outcomeText(v))
		}
	}
	n := 0
	for _, g := range bad {
		n += max(1, len(g.names))
	}
	all := screen.Count(len(list)-tally(list)[setting.Moved], "object")
	text, struck := all+" as set.", ""
	if n > 0 {
		text = fmt.Sprintf("%d of %s not as set.", n, all)
	}
	if tally(list)[setting.Forgotten] > 0 {
		struck = "'hostlab revert' takes out of the journal what the reboot has ended."
	}
	d := settingsReport("verify", data, text, struck)
	caution := func(*group) document.Tone { return document.Caution }
	d.Sections = []document.Section{part("Not as set", bad.pairs(caution)), part("As set", good.pairs(plainTone)),
		part("Changed with them by the kernel", beside.pairs(plainTone))}
	return d
}
