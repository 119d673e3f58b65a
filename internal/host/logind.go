package host

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// logindDirs hold systemd-logind's configuration, the first wins: of files of one name in the drop-in
// directories, that of the first directory holds (systemd.conf.d(5)).
var logindDirs = []string{"/etc/systemd", "/run/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd"}

// readRemoveIPC reads whether logind removes a user's shared memory and semaphores when the last session of that
// user ends. A drop-in wins over the main file, and of drop-ins the one whose name sorts last.
func readRemoveIPC(t Tree) Fact[string] {
	const key = "RemoveIPC"
	main := absentFact[string](logindDirs[0]+"/logind.conf", "not set: the distribution's default holds")
	for _, dir := range slices.Backward(logindDirs) {
		if f := loginValue(t, dir+"/logind.conf", key); f.State != StateAbsent {
			main = f
		}
	}
	dropIns := map[string]string{} // name -> file
	for _, dir := range slices.Backward(logindDirs) {
		names, _ := t.Dir(dir + "/logind.conf.d")
		for _, n := range names {
			if path.Ext(n) == ".conf" {
				dropIns[n] = dir + "/logind.conf.d/" + n
			}
		}
	}
	for _, n := range slices.Sorted(maps.Keys(dropIns)) {
		if f := loginValue(t, dropIns[n], key); f.State != StateAbsent {
			main = f
		}
	}
	return main
}

// loginValue reads the last value of a key below [Login]; absent where there is none.
func loginValue(t Tree, file, key string) Fact[string] {
	f := t.keeping(loginLines).Text(file)
	return Convert(f, "", func(s string) (string, error) {
		values := parseConf(s, []string{"Login"})
		if v := values[key]; v != "" {
			return v, nil
		}
		return "", none("not set: the distribution's default holds")
	})
}

// loginLines leaves the lines that are read.
func loginLines(data []byte) []byte {
	var kept []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "[") || strings.HasPrefix(line, "RemoveIPC") {
			kept = append(kept, line)
		}
	}
	return []byte(strings.Join(kept, "\n"))
}
