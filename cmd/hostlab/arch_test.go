package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mayImport is the architecture: which of our packages each package may use.
// Imports point down only. ARCHITECTURE.md says why.
var mayImport = map[string][]string{
	"internal/host":             {},
	"internal/host/hosttext":    {"internal/host", "internal/result", "internal/screen"},
	"internal/stats":            {},
	"internal/result":           {},
	"internal/analysis":         {"internal/result", "internal/stats"},
	"internal/result/store":     {"internal/result"},
	"internal/screen":           {},
	"internal/spelling":         {},
	"internal/workload":         {"internal/host", "internal/result", "internal/screen", "internal/spelling"},
	"internal/workload/command": {"internal/result", "internal/screen", "internal/spelling", "internal/workload"},
	"internal/workload/null":    {"internal/workload"},
	"internal/workload/hot":     {},
	"internal/workload/worker":  {},
	"internal/workload/thread":  {},
	"internal/workload/latency": {"internal/result", "internal/stats", "internal/workload"},
	"internal/workload/xmlquery": {"internal/postgres", "internal/workload", "internal/workload/cpus", "internal/workload/database",
		"internal/workload/thread", "internal/workload/worker"},
	"internal/workload/logcommit": {"internal/host", "internal/workload", "internal/workload/flush", "internal/workload/hot",
		"internal/workload/latency", "internal/workload/thread"},
	"internal/workload/all": {"internal/workload", "internal/workload/burst", "internal/workload/client", "internal/workload/command",
		"internal/workload/corun", "internal/workload/dialog", "internal/workload/extract", "internal/workload/logcommit", "internal/workload/null",
		"internal/workload/oltp", "internal/workload/scanlock", "internal/workload/worker", "internal/workload/xmlquery"},
	"internal/workload/burst": {"internal/neighbours", "internal/stats", "internal/workload", "internal/workload/hot", "internal/workload/latency",
		"internal/workload/thread", "internal/workload/worker"},
	"internal/workload/corun": {"internal/workload", "internal/workload/hot", "internal/workload/thread", "internal/workload/worker"},
	"internal/workload/dialog": {"internal/model", "internal/model/burstlog", "internal/postgres", "internal/result", "internal/stats",
		"internal/workload", "internal/workload/corun", "internal/workload/cpus", "internal/workload/database", "internal/workload/hot",
		"internal/workload/latency", "internal/workload/thread", "internal/workload/worker"},
	"studies": {},
	"internal/experiment": {"internal/delayfs", "internal/emulate", "internal/result", "internal/screen", "internal/setting", "internal/spelling",
		"internal/stats", "internal/workload", "internal/workload/all", "studies"},
	"internal/experiment/runner": {"internal/analysis", "internal/delayfs", "internal/emulate", "internal/energy", "internal/experiment",
		"internal/host", "internal/neighbours", "internal/result", "internal/result/store", "internal/screen", "internal/setting", "internal/workload",
		"internal/workload/all", "internal/workload/logcommit"},
	"internal/check":      {"internal/host", "internal/screen", "internal/spelling"},
	"internal/neighbours": {},
	"internal/probe": {"internal/host", "internal/neighbours", "internal/result", "internal/stats", "internal/workload/burst",
		"internal/workload/corun", "internal/workload/hot", "internal/workload/latency", "internal/workload/logcommit", "internal/workload/thread",
		"internal/workload/worker", "internal/workload/xmlquery"},
	"internal/lever": {"internal/check", "internal/host", "internal/probe", "internal/result"},
	"internal/report": {"internal/check", "internal/host", "internal/lever", "internal/probe", "internal/report/picture", "internal/result",
		"internal/screen"},
	"cmd/hostlab": {"internal/analysis", "internal/check", "internal/cpuset", "internal/delayfs", "internal/emulate", "internal/experiment",
		"internal/experiment/runner", "internal/explain", "internal/explain/connect", "internal/explain/show", "internal/export", "internal/host",
		"internal/host/hosttext", "internal/lever", "internal/model", "internal/neighbours", "internal/predict", "internal/probe", "internal/relation",
		"internal/report", "internal/report/effects", "internal/result", "internal/result/store", "internal/scanlock", "internal/screen",
		"internal/setting", "internal/spelling", "internal/stats", "internal/watch", "internal/watch/live", "internal/workload", "internal/workload/all",
		"internal/workload/logcommit", "internal/workload/scanlock", "internal/workload/worker"},
	"internal/report/picture":   {"internal/result"},
	"internal/model":            {"internal/model/des"},
	"internal/model/des":        {},
	"internal/model/queue":      {"internal/model/des"},
	"internal/model/validation": {"internal/model", "internal/model/queue", "internal/model/validation/emulated"},
	"internal/model/burstlog":   {"internal/model"},
	"internal/predict": {"internal/host", "internal/model", "internal/model/burstlog", "internal/report/picture", "internal/result", "internal/screen",
		"internal/spelling"},
	"internal/model/validation/emulated": {"internal/model"},
	"internal/report/effects": {"internal/analysis", "internal/host", "internal/report/picture", "internal/result", "internal/screen", "internal/smt",
		"internal/stats"},
	"internal/setting": {"internal/host", "internal/screen", "internal/spelling"},
	"internal/smt":     {"internal/analysis", "internal/result", "internal/stats"},
	"internal/workload/scanlock": {"internal/host", "internal/neighbours", "internal/placement", "internal/result", "internal/spelling",
		"internal/stats", "internal/workload", "internal/workload/corun", "internal/workload/cpus", "internal/workload/hot", "internal/workload/latency",
		"internal/workload/thread", "internal/workload/worker"},
	"internal/workload/cpus": {"internal/host", "internal/placement", "internal/spelling", "internal/workload", "internal/workload/thread"},
	"internal/workload/oltp": {"internal/placement", "internal/postgres", "internal/private", "internal/workload", "internal/workload/cpus",
		"internal/workload/database", "internal/workload/hot", "internal/workload/latency", "internal/workload/thread", "internal/workload/worker"},
	"internal/placement": {"internal/host"},
	"internal/cpuset":    {"internal/host", "internal/screen"},
	"internal/scanlock": {"internal/cpuset", "internal/host", "internal/placement", "internal/result", "internal/screen", "internal/stats",
		"internal/workload/hot", "internal/workload/scanlock"},
	"internal/relation":          {"internal/host", "internal/probe", "internal/result", "internal/screen"},
	"internal/emulate":           {"internal/model", "internal/workload/worker"},
	"internal/export":            {"internal/screen", "internal/setting", "internal/spelling"},
	"internal/postgres":          {"internal/private"},
	"internal/workload/database": {"internal/mariadb", "internal/postgres", "internal/workload"},
	"internal/workload/extract":  {"internal/postgres", "internal/workload", "internal/workload/database", "internal/workload/thread"},
	"internal/explain":           {"internal/result"},
	"internal/watch":             {"internal/host", "internal/result", "internal/screen", "internal/stats"},
	"internal/watch/live":        {"internal/result", "internal/screen", "internal/watch"},
	"internal/energy":            {"internal/host"},
	"internal/dsn":               {},
	"internal/mariadb":           {"internal/private"},
	"internal/private":           {},
	"internal/workload/client": {"internal/dsn", "internal/explain", "internal/explain/mariadb", "internal/explain/postgres", "internal/host",
		"internal/mariadb", "internal/postgres", "internal/result", "internal/stats", "internal/workload", "internal/workload/database",
		"internal/workload/latency", "internal/workload/logcommit", "internal/workload/thread"},
	"internal/explain/ask": {},
	"internal/explain/connect": {"internal/dsn", "internal/explain", "internal/explain/ask", "internal/explain/hana", "internal/explain/mariadb",
		"internal/explain/oracle", "internal/explain/postgres", "internal/explain/sqlserver", "internal/screen", "internal/spelling"},
	"internal/explain/hana":      {"internal/explain", "internal/explain/ask"},
	"internal/explain/mariadb":   {"internal/explain", "internal/explain/ask"},
	"internal/explain/oracle":    {"internal/explain", "internal/explain/ask"},
	"internal/explain/postgres":  {"internal/explain", "internal/explain/ask"},
	"internal/explain/show":      {"internal/explain", "internal/report/picture", "internal/result", "internal/screen"},
	"internal/explain/sqlserver": {"internal/explain", "internal/explain/ask"},
	"internal/workload/flush":    {},
	"internal/delayfs":           {"internal/workload/thread", "internal/workload/worker"},
}

// free lists folders that no shipped package may use: test support and benchmarks.
var free = []string{"internal/workload/workloadtest", "internal/host/hosttest", "internal/report/reporttest", "internal/watch/watchtest", "internal/private/privatetest", "bench", "testbed"}

func TestImportsPointDown(t *testing.T) {
	const root = "../.."
	seen, used := map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && d.Name() != "..") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(rel)
		if slices.ContainsFunc(free, func(f string) bool { return pkg == f || strings.HasPrefix(pkg, f+"/") }) {
			return nil
		}
		allowed, listed := mayImport[pkg]
		if !listed {
			t.Errorf("%s is not in the architecture; add it to mayImport with what it may use", pkg)
		}
		seen[pkg] = true
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range f.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			ours, ok := strings.CutPrefix(name, "hostlab/")
			if ok && !slices.Contains(allowed, ours) {
				t.Errorf("%s imports %s, which the architecture does not allow", path, ours)
			}
			used[pkg+" -> "+ours] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pkg, allowed := range mayImport {
		if !seen[pkg] {
			t.Errorf("%s is in the architecture but has no code", pkg)
		}
		for _, a := range allowed {
			if !used[pkg+" -> "+a] {
				t.Errorf("%s may import %s but does not; take it out", pkg, a)
			}
		}
	}
}
