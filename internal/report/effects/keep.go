package effects

import (
	"strconv"
	"strings"

	"hostlab/internal/analysis"
	"hostlab/internal/document"
	"hostlab/internal/experiment"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/setting"
)

// keep is how to keep the level of a live experiment that is better and costs nothing else that decides.
func (r *Report) keep() (out document.Commands) {
	x := r.head()
	if x.Design.Kind != result.Switchback || !r.Analysis.Complete || len(x.Factors) != 1 ||
		r.Analysis.Ended == result.Harmed {
		return nil
	}
	f, better, level := x.Factors[0], false, ""
	for i := range r.Analysis.Effects {
		e := &r.Analysis.Effects[i]
		switch {
		case !e.Primary():
		case e.Verdict == analysis.CostsLess:
			better, level = true, e.Contrast.Levels[0]
		case e.Verdict == analysis.CostsMore:
			return nil
		}
	}
	if !better {
		return nil
	}
	effect := SideEffect(f.Kind, f.Target, level)
	if effect != "" {
		effect = "; " + effect
	}
	switch f.Kind {
	case experiment.KindSetting:
		set := screen.Word(f.Target + "=" + level)
		return document.Commands{{Why: "keep it, until the next boot" + effect, Line: "hostlab set " + set},
			{Why: "keep it for good, with tuned" + effect, Line: "hostlab export tuned " + set + " --out tuned.conf"}}
	case experiment.KindServer:
		return document.Commands{{Why: "keep it" + effect, Line: keepParameter(x, f.Target, level)}}
	}
	return nil
}

// SideEffect is what a level of a setting of the host, or of a server's parameter, does or risks besides; "": nothing
// to say.
func SideEffect(kind, name, level string) string {
	switch kind {
	case experiment.KindSetting:
		s, _ := setting.Find(name)
		return s.SideEffect(level)
	case experiment.KindServer:
		risk, known := experiment.Risk(name, level)
		if !known {
			return "what " + name + " may cost besides is not known here: read its server's documentation"
		}
		return risk
	}
	return ""
}

// keepParameter is what a server's own client types.
func keepParameter(x *result.Experiment, name, level string) string {
	dsn, service := x.Parameters["dsn"], strings.ToLower(x.Parameters["service"])
	if strings.HasPrefix(dsn, "m") || strings.Contains(service, "maria") || strings.Contains(service, "mysql") {
		return "mariadb -e " + screen.Word("set global "+name+" = "+literal(level)) + "  # and the same in its option file"
	}
	return "psql -c " + screen.Word("alter system set "+name+" = '"+strings.ReplaceAll(level, "'", "''")+"'") +
		" -c 'select pg_reload_conf()'"
}

// literal is a value as SET GLOBAL of MariaDB takes it: it refuses a number in quotes, and one with a suffix.
func literal(level string) string {
	if _, err := strconv.ParseFloat(level, 64); err == nil {
		return level
	}
	if n := len(level) - 1; n > 0 {
		v, err := strconv.ParseInt(level[:n], 10, 32)
		if i := strings.IndexByte("KMG", strings.ToUpper(level)[n]); err == nil && i >= 0 {
			return strconv.FormatInt(v<<(10*(i+1)), 10)
		}
	}
	return "'" + strings.ReplaceAll(level, "'", "''") + "'"
}
