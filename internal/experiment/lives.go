package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// live is the built-in study of a service in use.
const live = "live"

var lives = map[string]struct{ kind, name, level string }{
	"live-epp":       {KindSetting, "epp", "performance"},
	"live-governor":  {KindSetting, "governor", "performance"},
	"live-idle":      {KindSetting, "cstate_latency", "70us"},
	"live-postgres":  {KindServer, "commit_delay", "1000"},
	"live-scheduler": {KindSetting, "io_scheduler", "none"},
	"live-smt":       {KindSetting, "smt", "off"},
	"live-thp":       {KindSetting, "thp", "madvise"},
}

// live reports whether the study is that of a service in use.
func (o Overrides) live() bool {
	_, named := lives[o.BuiltIn]
	return named || o.BuiltIn == live
}

// liveSource is the study's file with what a name of it varies; of other names it is the file.
func liveSource(study string, file []byte) []byte {
	of, ok := lives[study]
	if !ok {
		return file
	}
	change := []string{`title = "A setting or a server's parameter`, fmt.Sprintf(`title = "%s %s`, of.name, of.level),
		"name = \"epp\"\nsetting = \"epp\"", fmt.Sprintf("name = %q\n%s = %[1]q", of.name, of.kind),
		`"performance"]`, fmt.Sprintf("%q]", of.level)}
	if !hasClock(of.name) {
		change = append(change, instead, "")
	}
	if costsTime(of.kind, of.name) {
		const cpu, elapsed = `"cpu_per_transaction"`, `"elapsed_per_transaction"`
		change = append(change, cpu, elapsed, elapsed, cpu)
	}
	return []byte(strings.NewReplacer(change...).Replace(string(file)))
}

// instead is the file's line for hosts without a clock to set.
const instead = "instead = \"live-emulated\"       # where there is no clock to set\n"

func hasClock(name string) bool { return name == "epp" || name == "governor" }

// costsTime reports whether a change costs time and no CPU.
func costsTime(kind, name string) bool {
	return kind == KindServer || slices.Contains([]string{"io_scheduler", "read_ahead_kb", "nr_requests"}, name)
}

// decides lets the response of a live study decide that shows what the command line varies, and says so in the title.
func (p *parser) decides() {
	for _, key := range slices.Sorted(maps.Keys(p.over.Set)) {
		kind, name, _ := strings.Cut(key, ".")
		if !p.over.live() || !slices.Contains(byName, kind) {
			continue
		}
		p.f.Study.Title = fmt.Sprintf("%s %s on a live service, in turn with the present value", name, p.over.Set[key])
		if !hasClock(name) {
			p.f.Study.Instead = ""
		}
		for i := range p.f.Response {
			p.f.Response[i].Primary = new((p.f.Response[i].Name == "elapsed_per_transaction") == costsTime(kind, name) && i < 2)
		}
	}
}
