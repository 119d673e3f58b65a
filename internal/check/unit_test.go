package check

import (
	"strings"
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

func TestTheUnitOfAGroup(t *testing.T) {
	for group, want := range map[string]string{
		"/system.slice/postgresql.service":                                 "postgresql.service",
		"/system.slice/system-postgresql.slice/postgresql@15-main.service": "postgresql@15-main.service",
		`/system.slice/db\x2d1.service`:                                    `db\x2d1.service`,
		"/system.slice":                                                    "system.slice",
		"/":                                                                "",
		"":                                                                 "",
		"/system.slice/docker-0123.scope":                                  "",
		"/docker/0123":                                                     "",
		"/user.slice/user-1000.slice/session-3.scope":                              "",
		"/user.slice/user-1000.slice/user@1000.service":                            "",
		"/user.slice/user-1000.slice/user@1000.service/app.slice/pg.service":       "",
		"/lxc.payload.db/system.slice/postgresql.service":                          "",
		"/machine.slice/systemd-nspawn@db.service/payload/system.slice/pg.service": "",
		"/system.slice/pg.service/libpod-payload-0123":                             "",
		"/../../system.slice/postgresql.service":                                   "",
	} {
		testkit.Is(t, want, unitOf(group), group, "is of the unit")
	}
	d := host.Database{Limits: host.Limits{Cgroup: known("/system.slice/db.service", "/proc/700/cgroup")}}
	for file, want := range map[string]string{
		"/sys/fs/cgroup/system.slice/db.service/memory.max":                   "db.service",
		"/sys/fs/cgroup/memory/system.slice/db.service/memory.limit_in_bytes": "db.service",
		"/sys/fs/cgroup/system.slice/memory.high":                             "system.slice",
		"/sys/fs/cgroup/memory.high":                                          "",
		"/sys/fs/cgroup/other.slice/memory.high":                              "",
	} {
		testkit.Is(t, want, limitedBy(d, file), file, "is of the unit")
	}
}

// A name that systemd gives to no unit gets into no remedy; one that it does stays data.
func TestUnitsWithHostileNames(t *testing.T) {
	for _, name := range append(testkit.Hostile, testkit.Tag+`\x2d$`, "../"+testkit.Tag) {
		for _, c := range serverCases {
			f := c.facts0()
			for i := range f.Databases {
				f.Databases[i].Limits.Cgroup = known("/system.slice/"+name+".service", "/proc/700/cgroup")
				f.Databases[i].Limits.MemoryMax.Source = "/sys/fs/cgroup/system.slice/" + name + ".service/memory.max"
			}
			if r := c.runOn(t, f); strings.Contains(r.Remedy, testkit.Tag) && name != "-"+testkit.Tag &&
				name != testkit.Tag+`\` {
				t.Errorf("%s: %q is in the remedy %s", c.id, name, r.Remedy)
			} else if strings.Contains(r.Remedy, testkit.Tag) {
				testkit.Intact(t, r.Remedy, name+".service")
			}
		}
	}
}
