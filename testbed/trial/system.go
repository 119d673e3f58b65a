//go:build linux && amd64

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// inSystems are checks whose remedies are run as they are printed where systemd runs the servers: those of servers, and
// one for each way in which a value is kept over a boot.
var inSystems = []string{"SRV-001", "SRV-002", "SRV-003", "SRV-004", "SRV-005", "SRV-006", "NET-001", "PWR-001",
	"STO-001"}

// spoilt are files of other programs by which a host needs those remedies; they stay.
var spoilt = map[string]string{
	// Debian's starter sets a score of its own. This is how others' units start the server.
	"/etc/systemd/system/PG.d/50-spoilt.conf": "[Service]\nOOMScoreAdjust=0\nMemoryHigh=9G\nMemoryMax=10G\nType=notify\nUser=postgres\nKillSignal=SIGINT\nPIDFile=\n" +
		"ExecStop=\nExecStart=\nExecStart=/usr/lib/postgresql/VERSION/bin/postgres -D /var/lib/postgresql/VERSION/main -c config_file=/etc/postgresql/VERSION/main/postgresql.conf\n",
	"/etc/systemd/system/mongod.service":          "[Service]\nExecStart=/usr/local/bin/mongod infinity\nLimitNOFILE=1024:4096\n[Install]\nWantedBy=multi-user.target\n",
	"/etc/postgresql/VERSION/main/conf.d/it.conf": "fsync = off\nhuge_pages = off\nshared_buffers = 8GB\n",
	"/etc/sysctl.d/50-spoilt.conf":                "net.core.somaxconn = 128\n",
	"/etc/udev/rules.d/60-spoilt.rules":           `ACTION=="add|change", SUBSYSTEM=="block", KERNEL=="vda", RUN{builtin}+="kmod load mq-deadline", ATTR{queue/scheduler}="mq-deadline"` + "\n",
}

// inSystem runs each remedy twice: after the first, and a start of the servers, the checks are content; the second
// changes nothing.
func inSystem() {
	pg, version := ready()
	kept = slices.Concat(kept, []string{"/etc/systemd/system/*.d", "/etc/systemd/logind.conf.d"})
	for file, text := range spoilt {
		file, text = strings.NewReplacer("PG", pg, "VERSION", version).Replace(file),
			strings.ReplaceAll(text, "VERSION", version)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // configuration
			cannot(err.Error())
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil { //nolint:gosec // configuration
			cannot(err.Error())
		}
	}
	must("cp /usr/bin/sleep /usr/local/bin/mongod; systemctl daemon-reload; systemctl enable -q mongod; " +
		"sysctl -q -p /etc/sysctl.d/50-spoilt.conf; modprobe mq-deadline; udevadm control --reload; udevadm trigger --settle /dev/vda; " +
		"systemctl restart mongod " + pg)
	before := inspected()
	for _, id := range inSystems {
		if a := before[id]; a.Status != "finding" || a.Remedy == "" {
			fail(id, "%s (%s) on a host that needs it", a.Status, a.Detail)
		}
		perform(before[id], "once")
	}
	must("systemctl restart mongod " + pg)
	content("once")
	seen := state(pg, version)
	for _, id := range inSystems {
		perform(before[id], "twice")
	}
	if now := state(pg, version); now != seen {
		fail("twice", "the second time changed something: %s, and before %s", now, seen)
	}
	content("twice")
	independent(pg)
	module()
	for _, id := range inSystems {
		line("remedy", id)
	}
}

// booted looks at what was left by inSystem after a boot.
func booted() {
	pg, _ := ready()
	content("before a boot")
	independent(pg)
	loaded("at boot, by modules-load.d")
}

// module has a parameter of a module kept before the module is loaded, and loads it, now and at the next boot.
func module() {
	const file = "/etc/modules-load.d/hostlab-it.conf"
	must("! lsmod | grep -q ^sunrpc; echo sunrpc > " + file)
	if got := hostlab("export", "systemd", "tcp_max_slot_table_entries=128", "--out", "/etc"); got.code != 0 {
		cannot(got.err)
	}
	must("modprobe sunrpc")
	loaded("by hand")
}

func loaded(how string) {
	slots := cat("/proc/sys/sunrpc/tcp_max_slot_table_entries")
	require("sunrpc, loaded "+how+", has what modprobe.d says", slots == "128", "%s", slots)
}

// ready waits until the system is up, and returns PostgreSQL's unit and version.
func ready() (unit, version string) {
	all := glob("/etc/postgresql/*/main")
	if len(all) != 1 {
		cannot(fmt.Sprint("PostgreSQL's clusters: ", all))
	}
	version = filepath.Base(filepath.Dir(all[0]))
	unit = "postgresql@" + version + "-main.service"
	if out, err := sh("systemctl start systemd-logind " + unit); err != nil {
		cannot(err.Error() + ": " + out)
	}
	return unit, version
}

func sh(script string) (string, error) {
	out, err := exec.Command("/bin/sh", "-e", "-c", script).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func must(script string) string {
	out, err := sh(script)
	if err != nil {
		cannot(fmt.Sprintf("%s: %v: %s", script, err, out))
	}
	return out
}

func inspected() map[string]answer {
	list, problem := answers()
	if problem != "" {
		cannot(problem)
	}
	return list
}

func perform(a answer, when string) {
	if out, err := sh(a.Remedy); err != nil {
		fail(a.ID, "its remedy, run %s: %v: %s\n%s", when, err, out, a.Remedy)
	}
}

func content(when string) {
	now := inspected()
	for _, id := range inSystems {
		if s := now[id].Status; s != "ok" && s != "not_applicable" {
			fail(id, "%s after its remedy was run %s: %s", s, when, now[id].Detail)
		}
	}
}

// state is what remedies write: the files, and what systemd makes of them.
func state(pg, version string) string {
	return keptFiles() + cat("/var/lib/postgresql/"+version+
		"/main/postgresql.auto.conf") + cat("/proc/sys/vm/nr_hugepages") +
		cat("/sys/block/vda/queue/scheduler") + cat("/proc/sys/net/core/somaxconn") +
		must("systemctl show -p OOMScoreAdjust,MemoryHigh,MemoryMax,LimitNOFILE,LimitNOFILESoft,Environment "+pg+" mongod")
}

// independent asks the system itself, without hostlab.
func independent(pg string) {
	pid := must("systemctl show -P MainPID " + pg)
	score := cat("/proc/" + pid + "/oom_score_adj")
	require("the postmaster's score", score == "-1000", "%s", score)
	child := strings.Fields(cat("/proc/" + pid + "/task/" + pid + "/children"))
	require("the score of what it starts", len(child) > 0 && cat("/proc/"+child[0]+"/oom_score_adj") == "0", "%v", child)
	group := must("systemctl show -P ControlGroup " + pg)
	limits := cat("/sys/fs/cgroup"+group+"/memory.max") + cat("/sys/fs/cgroup"+group+"/memory.high")
	require("its memory limits", limits == "maxmax", "%s", limits)
	files := must("systemctl show -P LimitNOFILESoft mongod; prlimit -n -o SOFT,HARD --noheadings -p $(systemctl show -P MainPID mongod)")
	require("files of mongod", strings.HasPrefix(files, "64000\n64000 "), "%s", files)
	removes := must(
		"busctl get-property org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager RemoveIPC")
	require("logind keeps shared memory", removes == "b false", "%s", removes)
	sync := must("sudo -u postgres psql -Atc 'show fsync' 2>/dev/null")
	require("fsync", sync == "on", "%s", sync)
	pages := must("grep HugetlbPages /proc/" + pid + "/status")
	require("huge pages in use", !strings.Contains(pages, "\t       0 kB"), "%s", pages)
	require("somaxconn", cat("/proc/sys/net/core/somaxconn") != "128", "still 128")
	require("the scheduler", strings.Contains(cat("/sys/block/vda/queue/scheduler"), "[none]"), "%s",
		cat("/sys/block/vda/queue/scheduler"))
	governor := cat(cpu + "/cpufreq/policy0/scaling_governor")
	require("the governor", governor == "performance", "%s", governor)
}
