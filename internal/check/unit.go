package check

import (
	"path"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/lazyre"
)

// unitName is what systemd takes as the name of a unit that a drop-in can change; scopes have none.
var unitName = lazyre.New(`^[A-Za-z0-9:_.@\\-]+\.(service|slice)$`)

// unitOf is the unit of this host's systemd that a control group is of: a service, or a slice of services. "" where it
// is another's: a session's, a container's, that of a user's own systemd, or a group that a service made for itself.
func unitOf(group string) string {
	words := strings.Split(strings.Trim(group, "/"), "/")
	unit := words[len(words)-1]
	for _, above := range words[:len(words)-1] {
		if !strings.HasSuffix(above, ".slice") {
			return ""
		}
	}
	if !unitName.MatchString(unit) || strings.HasPrefix(unit, "user@") {
		return ""
	}
	return unit
}

// serviceOf is the service that started a server; "" where no drop-in of this host's can change that.
func serviceOf(d host.Database) string {
	if unit := unitOf(d.Limits.Cgroup.Or("")); strings.HasSuffix(unit, ".service") {
		return unit
	}
	return ""
}

// limitedBy is the unit that a limit of a server is of, by the limit's file: the server's own, or one above it.
func limitedBy(d host.Database, file string) string {
	for group := d.Limits.Cgroup.Or(""); len(group) > 1; group = path.Dir(group) {
		if strings.HasSuffix(path.Dir(file), group) {
			return unitOf(group)
		}
	}
	return ""
}

// dropIn writes lines into a file of their own beside a unit's: to write it twice leaves it as it is.
func dropIn(unit, key string, lines ...string) remedy {
	dir, section := "/etc/systemd/system/"+unit+".d", "Service"
	if path.Ext(unit) == ".slice" {
		section = "Slice"
	}
	return remedy{
		run("sudo", "mkdir", "-p", dir),
		{format: `[` + section + `]\n` + strings.Repeat(`%s\n`, len(lines)), words: lines,
			into: []string{dir + "/90-hostlab-" + key + ".conf"}},
		run("sudo", "systemctl", "daemon-reload").noting("an override.conf of 'systemctl edit' would override this file"),
	}
}

// restart stands below what a server takes over when it starts.
var restart = remark("it takes effect when the server restarts: restart it when you can")
