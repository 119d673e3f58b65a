package effects

import (
	"strings"
	"testing"

	"hostlab/internal/analysis"
	"hostlab/internal/experiment"
	"hostlab/internal/result"
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
		x.Design.Kind = experiment.Switchback
		e := analysis.Effect{Contrast: result.Contrast{Factors: []string{"f"}, Levels: []string{c.level}, Primary: true}, Response: result.Response{Primary: true}, Verdict: c.verdict}
		r := &Report{Analysis: &analysis.Analysis{Experiment: x, Complete: true, Ended: c.ended, Effects: []analysis.Effect{e}}}
		got := r.keep()
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) == 0 || !strings.HasPrefix(got[0].Line, c.want)) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
