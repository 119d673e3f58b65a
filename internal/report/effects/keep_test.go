package effects

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"hostlab/internal/analysis"
	"hostlab/internal/experiment"
	"hostlab/internal/result"
	"hostlab/internal/setting"
)

// A live experiment whose level is better ends with what keeps it.
func TestKeep(t *testing.T) {
	for name, c := range map[string]struct {
		kind, target, level, service string
		verdict                      analysis.Verdict
		ended                        string
		want                         string // of the first command; "": none
	}{
		"setting":      {experiment.KindSetting, "epp", "performance", "postgres", analysis.CostsLess, "resolved", "hostlab set epp=performance"},
		"parameter":    {experiment.KindServer, "log_line_prefix", "it's", "postgres", analysis.CostsLess, "looks", "psql -c "},
		"of MariaDB":   {experiment.KindServer, "innodb_io_capacity", "500", "mariadb", analysis.CostsLess, "looks", "mariadb -e 'set global innodb_io_capacity = 500'"},
		"with a unit":  {experiment.KindServer, "innodb_max_dirty", "64M", "mariadb", analysis.CostsLess, "looks", "mariadb -e 'set global innodb_max_dirty = 67108864'"},
		"a word":       {experiment.KindServer, "binlog_row_image", "FULL", "mariadb", analysis.CostsLess, "looks", `mariadb -e 'set global binlog_row_image = '\''FULL'\''`},
		"worse":        {experiment.KindSetting, "epp", "power", "postgres", analysis.CostsMore, "resolved", ""},
		"no effect":    {experiment.KindSetting, "epp", "power", "postgres", analysis.NoEffect, "resolved", ""},
		"harm":         {experiment.KindSetting, "epp", "power", "postgres", analysis.CostsLess, result.Harmed, ""},
		"of emulation": {experiment.KindEmulated, "", "fixed:50", "postgres", analysis.CostsLess, "resolved", ""},
	} {
		x := &result.Experiment{Parameters: map[string]string{"service": c.service}, Factors: []result.Factor{{Name: "f", Kind: c.kind, Target: c.target}}}
		x.Design.Kind = result.Switchback
		e := analysis.Effect{Contrast: result.Contrast{Factors: []string{"f"}, Levels: []string{c.level}, Primary: true}, Response: result.Response{Primary: true}, Verdict: c.verdict}
		r := &Report{Analysis: &analysis.Analysis{Experiment: x, Complete: true, Ended: c.ended, Effects: []analysis.Effect{e}}}
		got := r.keep()
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) == 0 || !strings.HasPrefix(got[0].Line, c.want)) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// What keeps a level says what the level does besides, as the plan of the experiment does: of each setting that has a side effect,
// of each parameter whose risk is known, and that it is not known of others.
func TestKeepSaysTheSideEffect(t *testing.T) {
	why := func(kind, target, level string) (all []string) {
		x := &result.Experiment{Parameters: map[string]string{"service": "postgres"}, Factors: []result.Factor{{Name: "f", Kind: kind, Target: target}}}
		x.Design.Kind = result.Switchback
		e := analysis.Effect{Contrast: result.Contrast{Factors: []string{"f"}, Levels: []string{level}, Primary: true}, Response: result.Response{Primary: true}, Verdict: analysis.CostsLess}
		r := &Report{Analysis: &analysis.Analysis{Experiment: x, Complete: true, Ended: "looks", Effects: []analysis.Effect{e}}}
		for _, c := range r.keep() {
			all = append(all, c.Why)
		}
		return all
	}
	settings := 0
	for _, s := range setting.All() {
		for _, value := range append(slices.Sorted(maps.Values(s.Advice)), "another") {
			if s.Effect == "" {
				continue
			}
			settings++
			for _, w := range why(experiment.KindSetting, s.Name, value) {
				if !strings.Contains(w, s.Effect) || value == "another" && len(s.Advice) > 0 && !strings.Contains(w, "; at ") {
					t.Errorf("%s=%s: %q", s.Name, value, w)
				}
			}
		}
	}
	if settings < 40 {
		t.Errorf("%d values of settings", settings)
	}
	for parameter, want := range map[string]string{"synchronous_commit=off": "the commits of the last second are lost", "SYNCHRONOUS_COMMIT=False": "the commits of the last second are lost",
		"synchronous_commit=local": "replica", "synchronous_commit=on": "", "full_page_writes=f": "data can be damaged", "full_page_writes=0": "data can be damaged", "full_page_writes=true": "",
		"innodb_flush_log_at_trx_commit=2": "commits of the last second are lost", "innodb_flush_log_at_trx_commit=1": "", "sync_binlog=1000": "replicas and backups", "sync_binlog=1": "",
		"innodb_doublewrite=OFF": "data can be damaged", "innodb_doublewrite=detect_only": "data can be damaged", "checkpoint_timeout=1h": "recovery after a crash takes longer", "some_option=7": "not known here"} {
		name, level, _ := strings.Cut(parameter, "=")
		list := why(experiment.KindServer, name, level)
		if len(list) != 1 || want == "" && list[0] != "keep it" || !strings.Contains(list[0], want) {
			t.Errorf("%s: %q, want %q", parameter, list, want)
		}
	}
}
