package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/check"
	"hostlab/internal/document"
	"hostlab/internal/experiment/runner"
	"hostlab/internal/screen"
	"hostlab/internal/setting"
)

func newVerify(std streams) *cobra.Command {
	var (
		at     settingsAt
		accept exceptions
		format string
	)
	cmd := &cobra.Command{
		Use:   "verify [flags]",
		Short: "Are the settings still as they were set?",
		Long: `verify reads back every object that 'hostlab set' or an experiment has changed,
and names each whose value is now different. Daemons such as tuned write their
own values, firmware may cap, and a reboot forgets what no profile keeps. verify
also names a 'hostlab set' that was killed, a damaged journal, and what a live
experiment left after a power cut. It names findings that --exceptions accepts,
but does not count them as failures. It writes nothing and needs no root.

Exit status: 0 all values are as set (or none was set), 1 some are not, 2
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
			excused, err := accept.drift(cmd.Context(), at.root, list)
			if err != nil {
				return err
			}
			failure := asError(trouble)
			err = errors.Join(failure, printDocument(std, verification(sys, list, left, excused, failure), format))
			n := tally(list)
			if err == nil && len(left) > 0 || err == nil &&
				n[setting.Unchanged]+n[setting.Rounded]+n[setting.Moved]+len(excused) < len(list) {
				return verdictStatus{exitDrifted}
			}
			return err
		},
	}
	at.flags(cmd, true)
	accept.flags(cmd)
	formatFlag(cmd, &format, formats)
	return cmd
}

// acceptedJSON is an object that is not as set, and the exception for it.
type acceptedJSON struct {
	Setting string `json:"setting"`
	Object  string `json:"object"`
	Check   string `json:"check"`
	Reason  string `json:"reason"`
	Until   string `json:"until"`
}

// drift are the objects that are not as set, and for which an exception of a check that advises their setting is in force.
func (e *exceptions) drift(ctx context.Context, root string, list []setting.Outcome) (out []acceptedJSON, _ error) {
	accepted, err := e.read()
	if err != nil || len(accepted) == 0 || !slices.ContainsFunc(list, drifted) {
		return nil, err
	}
	m := machine{root: root}
	f, err := m.collect(ctx, "")
	if err != nil {
		return nil, err
	}
	excused := check.Excused(accepted, f.Identity.Hostname.Or(unnamed), time.Now())
	for _, o := range list {
		if !drifted(o) {
			continue
		}
		for _, id := range slices.Sorted(maps.Keys(excused)) {
			if c, err := check.Find(id); err == nil && c.Advises(o.Setting) {
				out = append(out, acceptedJSON{o.Setting, o.Name, id, excused[id].Reason, excused[id].Until})
				break
			}
		}
	}
	return out, nil
}

// drifted reports an object that another program or a person has set to something else. What could not be read is not one.
func drifted(o setting.Outcome) bool { return o.Result == setting.Foreign }

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
func verification(sys *setting.System, list []setting.Outcome, left []runner.Left, excused []acceptedJSON,
	failure error) *document.Document {
	d := verifiedSettings(sys, list, failure, leftBehind(left), excused)
	for _, a := range excused {
		d.Warnings = append(d.Warnings, fmt.Sprintf("%s: accepted (%s): %s; until %s", strings.TrimSpace(a.Setting+" "+a.Object),
			a.Check, strings.TrimSuffix(a.Reason, "."), a.Until))
	}
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

func verifiedSettings(sys *setting.System, list []setting.Outcome, failure error, left []leftJSON,
	excused []acceptedJSON) *document.Document {
	data := change("verify", list, failure)
	data.Left, data.Accepted = left, excused
	if len(list) == 0 && failure != nil {
		return settingsReport("verify", data, "Nothing is set, as far as the journal says.")
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
			as := ", as set"
			if v.Reason != "" { // its reason names the reboot
				as = ", as set; kept over the reboot since"
			}
			good.add(v.Setting, kind, v.Name, to+as)
		case setting.Rounded:
			good.add(v.Setting, kind, v.Name, read+", as "+keeper(v.Setting)+" made of "+to)
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
