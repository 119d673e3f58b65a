package host

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"hostlab/internal/testkit"
)

// unpack writes an archive as a tree and returns it.
func unpack(t *testing.T, a *txtar.Archive) Tree {
	t.Helper()
	return tree(t, string(txtar.Format(a)))
}

func record(t *testing.T, tree Tree, comment string, paths []string) *txtar.Archive {
	t.Helper()
	var b bytes.Buffer
	testkit.OK(t, Record(context.Background(), tree, comment, paths, &b))
	return txtar.Parse(b.Bytes())
}

// members maps names to contents.
func members(a *txtar.Archive) map[string]string {
	m := map[string]string{}
	for _, f := range a.Files {
		m[f.Name] = string(f.Data)
	}
	return m
}

const odd = `-- proc/sys/kernel/hostname --
db7.example.com
-- proc/sys/kernel/osrelease --
6.1.0-x
-- boot/config-6.1.0-x --
CONFIG_A=y
CONFIG_HZ=250
CONFIG_Z=secret
-- proc/version --
Linux version 6.1.0-x (jane@build.example.com) (gcc 12.2.0) #1 SMP
-- proc/1/environ --
SECRET=1
-- proc/1/sched --
systemd (1, #threads: 1)
se.exec_start : 1.5
-- proc/cmdline --
root=UUID=6d1b3a3e-7d0c-4a4e-9a45-0f4f7a1f5d11 ro intel_idle.max_cstate=1 rd.lvm.lv=vg/root hugepages=8 ip=10.1.2.3 -- --listen 10.1.2.3:2024
-- proc/self/cgroup --
0::/system.slice/docker-1f0c5d8ac7e54c0c9e0e5a3f0b0c4d3e2f1a0b9c8d7e6f5a4b3c2d1e0f9a8b7c.scope
-- proc/self/mountinfo --
22 1 253:0 / / rw shared:1 - xfs /dev/vg0/root rw,attr2
31 22 0:44 / /mnt/n rw - nfs4 filer.example.com:/export/x rw,vers=4.2,addr=10.9.8.7,clientaddr=fe80::1
32 22 0:45 / /mnt/w rw - cifs //win01/share/y rw,username=jane,domain=CORP,vers=3.1.1
33 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw
-- sys/fs/cgroup/system.slice/cpu.max --
100000 100000
-- sys/fs/cgroup/system.slice/docker-1f0c5d8ac7e54c0c9e0e5a3f0b0c4d3e2f1a0b9c8d7e6f5a4b3c2d1e0f9a8b7c.scope/memory.max --
max
-- dev/vg0/root -> ../dm-0 --
-- dev/dm-0 --
-- sys/block/dm-0 -> ../devices/virtual/block/dm-0 --
-- sys/devices/virtual/block/dm-0/dm/uuid --
LVM-f0Vq3CLPz5vFNLoHMkD4j3kc3nWmJx
-- sys/devices/virtual/block/dm-0/dm/name --
vg0-root
-- sys/devices/virtual/block/dm-0/slaves/sda -> ../../../../pci/sda --
-- sys/devices/pci/sda/size --
8
-- sys/devices/pci/sda/device/wwid --
naa.5000c500a1b2c3d4
-- sys/class/block/sda -> ../../devices/pci/sda --
-- sys/class/block/dm-0 -> ../../devices/virtual/block/dm-0 --
-- sys/class/dmi/id/product_serial --
ABC123
-- sys/class/dmi/id/chassis_asset_tag --
INV-0815
-- sys/class/dmi/id/sys_vendor --
Fujitsu
-- sys/devices/system/cpu/online --
0-3
-- sys/devices/system/cpu/cpufreq/policy3/scaling_governor --
!errno EBUSY
-- sys/devices/system/cpu/cpu0/cpufreq -> ../cpufreq/policy0 --
-- sys/devices/system/cpu/cpufreq/policy0/scaling_governor --
powersave
-- etc/os-release -> /usr/lib/os-release --
-- usr/lib/os-release --
NAME=x
-- etc/my.cnf -> ../opt/settings --
-- opt/settings --
[client]
password=hunter2
[mysqld]
datadir = /data/my
-- proc/77/comm --
postgres
-- proc/77/stat --
77 (postgres) S 1 77
-- proc/77/cwd -> /data/pg --
-- proc/77/environ --
PGPASSWORD=hunter2
-- proc/78/comm --
postgres
-- proc/79/comm --
mysqld
-- data/pg/pg_wal -> /log/wal --
-- log/wal/000000010000000000000001 --
rows of a table
-- .hostlab/statx/log/wal/.attr --
inherit=0 free=5 readonly=0
-- .hostlab/statx/data/pg/pg_wal/.attr --
inherit=0 free=5 readonly=0
-- .hostlab/statx/log/wal/000000010000000000000001/.attr --
dax=1 free=5 readonly=0
`

// oddTree is a machine with all that must not be recorded.
func oddTree(t *testing.T) Tree {
	tree := unpack(t, txtar.Parse([]byte(odd)))
	for name, text := range map[string]string{
		"/proc/77/cmdline": "/usr/bin/postgres\x00-D\x00/data/pg\x00--primary_conninfo=host=10.0.0.9 password=hunter2\x00",
		"/proc/78/cmdline": "postgres: jane sales 10.0.0.9(41222) idle\x00",
		"/proc/79/cmdline": "/usr/sbin/mysqld\x00--wsrep-sst-auth=jane:hunter2\x00",
	} {
		testkit.OK(t, os.WriteFile(tree.Join(name), []byte(text), 0o644))
	}
	return tree
}

func TestRecordMasksAndKeeps(t *testing.T) {
	a := record(t, oddTree(t), "odd", []string{"/log/wal/000000010000000000000001", "/nowhere"})
	const id = "0000000000000000000000000000000000000000000000000000000000000001"
	want := map[string]string{
		"proc/sys/kernel/hostname":  "host\n",
		"proc/sys/kernel/osrelease": "6.1.0-x\n",
		"boot/config-6.1.0-x":       "CONFIG_HZ=250\n",
		"proc/version":              "Linux version 6.1.0-x (builder@host) (gcc 12.2.0) #1 SMP\n",
		"proc/cmdline":              "root=redacted ro intel_idle.max_cstate=1 rd.lvm.lv=redacted hugepages=8 ip=redacted\n",
		"proc/self/cgroup":          "0::/system.slice/docker-" + id + ".scope\n",
		"proc/self/mountinfo": "22 1 253:0 / / rw shared:1 - xfs /dev/vg0/root rw,attr2\n" +
			"31 22 0:44 / /mnt/n rw - nfs4 redacted rw,vers=4.2\n" +
			"32 22 0:45 / /mnt/w rw - cifs redacted rw,vers=3.1.1\n" +
			"33 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
		"sys/fs/cgroup/system.slice/cpu.max":                               "100000 100000\n",
		"sys/fs/cgroup/system.slice/docker-" + id + ".scope/memory.max":    "max\n",
		"dev/vg0/root -> ../dm-0":                                          "",
		"dev/dm-0":                                                         "",
		"sys/block/dm-0 -> ../devices/virtual/block/dm-0":                  "",
		"sys/class/block/dm-0 -> ../../devices/virtual/block/dm-0":         "",
		"sys/class/block/sda -> ../../devices/pci/sda":                     "",
		"sys/devices/virtual/block/dm-0/dm/uuid":                           "LVM-redacted\n",
		"sys/devices/virtual/block/dm-0/dm/name":                           "vg0-root\n",
		"sys/devices/virtual/block/dm-0/slaves/sda -> ../../../../pci/sda": "",
		"sys/devices/pci/sda/device/":                                      "",
		"sys/devices/pci/sda/size":                                         "8\n",
		"sys/class/dmi/id/sys_vendor":                                      "Fujitsu\n",
		"sys/devices/system/cpu/online":                                    "0-3\n",
		"sys/devices/system/cpu/cpufreq/policy3/scaling_governor":          "!errno EBUSY\n",
		"sys/devices/system/cpu/cpufreq/policy0/scaling_governor":          "powersave\n",
		"etc/os-release -> ../usr/lib/os-release":                          "",
		"usr/lib/os-release":                                               "NAME=x\n",
		"etc/my.cnf -> ../opt/settings":                                    "",
		"opt/settings":                                                     "[client]\n[mysqld]\ndatadir = /data/my\n",
		"proc/77/comm":                                                     "postgres\n",
		"proc/77/stat":                                                     "77 (postgres) S 1 77\n",
		"proc/77/cmdline":                                                  "/usr/bin/postgres\x00-D\x00/data/pg\x00--primary_conninfo=redacted\n",
		"proc/77/cwd -> ../../data/pg":                                     "",
		"data/pg/pg_wal -> ../../log/wal":                                  "",
		"log/wal/000000010000000000000001":                                 "",
		".hostlab/statx/log/wal/000000010000000000000001/.attr":            "dax=1 free=5 readonly=0\n",
		".hostlab/statx/log/wal/.attr":                                     "inherit=0 free=5 readonly=0\n",
		".hostlab/statx/data/pg/":                                          "", // asked about, and not held
		"proc/79/comm":                                                     "mysqld\n",
		"proc/79/cmdline":                                                  "/usr/sbin/mysqld\x00--wsrep-sst-auth=redacted\n",
	}
	// An absolute link of this tree leads out of it: a recording's never does.
	testkit.Same(t, want, members(a), "recorded")
	text := string(txtar.Format(a))
	for _, secret := range []string{"hunter2", "jane", "example.com", "10.0.0.9", "10.1.2.3", "win01", "ABC123", "INV-0815", "5000c500", "6d1b3a3e", "rows of", "f0Vq3"} {
		if strings.Contains(text, secret) {
			t.Errorf("recording contains %q", secret)
		}
	}
	again := record(t, unpack(t, a), "odd", []string{"/log/wal/000000010000000000000001"})
	testkit.Same(t, members(a), members(again), "recording of the recording (-first +second)")
}

func TestRecordRefuses(t *testing.T) {
	stopped, stop := context.WithCancel(context.Background())
	stop()
	for name, c := range map[string]struct {
		ctx  context.Context
		path string
		want string
	}{
		"relative path": {context.Background(), "db", `path "db": a recording needs an absolute path`},
		"line break":    {context.Background(), "/a\nb", `path "/a\nb"`},
		"arrow":         {context.Background(), "/a -> b", `path "/a -> b"`},
		"interrupted":   {stopped, "/", "recording: context canceled"},
	} {
		err := Record(c.ctx, oddTree(t), "", []string{c.path}, io.Discard)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s...", name, err, c.want)
		}
	}
}

func TestFailed(t *testing.T) {
	for err, want := range map[error]string{
		&os.PathError{Op: "read", Path: "/x", Err: syscall.EBUSY}:  "!errno EBUSY",
		&os.PathError{Op: "open", Path: "/x", Err: syscall.EACCES}: "!errno EACCES",
		os.ErrPermission: "!errno EACCES",
		io.ErrClosedPipe: "!errno EIO",
	} {
		testkit.Is(t, want, string(failed(err)), "failed", err, ") =")
	}
}

func TestRelativeLink(t *testing.T) {
	for _, c := range [][3]string{{"/etc", "/usr/lib/x", "../usr/lib/x"}, {"/", "/x", "x"}, {"/a/b", "/a//c/../d", "../../a/d"}} {
		testkit.Is(t, c[2], relativeLink(c[0], c[1]), "relativeLink", c[0], c[1], ") =")
	}
}

// No content may start a new member, and single lines come back as they were.
func TestInert(t *testing.T) {
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"-- a --", "-- b -> c --", "--  --", "-- x --\r", "", "text", " -- d --", "-- e"})
		text := strings.Join(rapid.SliceOf(line).Draw(t, "lines"), "\n")
		if rapid.Bool().Draw(t, "final newline") {
			text += "\n"
		}
		a := &txtar.Archive{Comment: inert([]byte(text)), Files: []txtar.File{{Name: "f", Data: inert([]byte(text))}, {Name: "g"}}}
		back := txtar.Parse(txtar.Format(a))
		if len(back.Files) != 2 {
			t.Fatalf("%q makes %d members", text, len(back.Files))
		}
		got := strings.ReplaceAll(string(back.Files[0].Data), "\n -- ", "\n-- ")
		if strings.TrimSpace(got) != strings.TrimSpace(strings.ReplaceAll(text, "\n -- ", "\n-- ")) {
			t.Fatalf("%q comes back as %q", text, got)
		}
	})
}

// A mask may not change what it made, or recordings would drift.
func TestIdsAreStable(t *testing.T) {
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
		s := rapid.StringMatching(`([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12} |[0-9a-f]{32} |([0-9a-f]{2}:){5}[0-9a-f]{2} |(en|wl|ww|ib)x[0-9a-f]{12} |/dev/disk/by-id/[a-z]{3} ){1,5}`).Draw(t, "s")
		m := newRecordMask(Tree{Root: "/nonexistent"}, nil)
		once := m.ids(s)
		if again := newRecordMask(Tree{Root: "/nonexistent"}, nil).ids(once); again != once {
			t.Fatalf("%q, then %q", once, again)
		}
	})
}

// Names of interfaces hold the MAC address, and of cards with several ports what port it is.
func TestNamesOfAddresses(t *testing.T) {
	for in, want := range map[string]string{
		"enx001122aabbcc":                   "enx00005e005301",
		"wlx001122aabbcc: enx001122aabbcd ": "wlx00005e005301: enx00005e005302 ",
		"enx001122aabbccd1":                 "enx00005e005301d1",
		"wwx001122aabbccf0":                 "wwx00005e005301f0",
		"enp3s0 enx0011 xenx001122aabbcc":   "enp3s0 enx0011 xenx001122aabbcc",
	} {
		testkit.Is(t, want, newRecordMask(Tree{Root: "/nonexistent"}, nil).ids(in), in)
	}
}

// What replay reads beside settings: whose device tree and ACPI tables, which
// engine, which page size.
func TestRecordTellsTheMachine(t *testing.T) {
	in := unpack(t, txtar.Parse([]byte("-- proc/cpuinfo --\nCPU implementer : 0x41\n-- .hostlab/pagesize --\n65536\n")))
	guest := unpack(t, txtar.Parse([]byte(guestCPU)))
	put := func(in Tree, name, text string) {
		t.Helper()
		testkit.OK(t, os.MkdirAll(path.Dir(in.Join(name)), 0o755))
		testkit.OK(t, os.WriteFile(in.Join(name), []byte(text), 0o644))
	}
	put(in, "/proc/device-tree/compatible", "linux,dummy-virt\x00")
	put(in, "/proc/1/environ", "PASSWORD=hunter2\x00container=podman\x00HOME=/root\x00")
	put(guest, "/sys/firmware/acpi/tables/FACP", "FACP\x14\x01\x00\x00\x06\x17FIRECKFCVMFADT\x00\x00\x00\x00")
	a := record(t, in, "", nil)
	out := unpack(t, a)
	for _, tree := range []Tree{in, out} {
		if v := readVirt(tree); v.Hypervisor.Or("") != "kvm" || v.Container.Or("") != "podman" {
			t.Errorf("hypervisor %+v, container %+v", v.Hypervisor, v.Container)
		}
		testkit.Is(t, 65536, readPageSize(tree).Or(0), "page size")
	}
	testkit.Is(t, "FACP......FIRECK\n", members(record(t, guest, "", nil))["sys/firmware/acpi/tables/FACP"], "FACP")
	testkit.Is(t, "container=podman\n", members(a)["proc/1/environ"], "environ")
	testkit.Is(t, fmt.Sprintln(os.Getpagesize()), members(record(t, Tree{}, "", nil))[strings.TrimPrefix(pageSizeFile, "/")], "page size of this machine")
}

// named is a machine whose name, servers and users stand in many places.
const named = `-- proc/sys/kernel/hostname --
db01prod.corp.example
-- proc/self/mountinfo --
22 1 253:0 / / rw shared:1 - ext4 /dev/mapper/db01prod--vg-root rw
31 22 0:44 / /mnt/g rw - fuse.glusterfs gl1.corp:vol rw,user_id=0,default_permissions
32 22 0:45 / /mnt/c rw - ceph 10.0.0.1:6789:/ rw,name=jane,secret=<hidden>,acl
33 22 0:46 / /mnt/d rw - fuse https://cloud.corp/dav rw,uid=1000
34 22 0:47 / /mnt/w rw - davfs https://cloud.corp/dav2 rw
-- dev/mapper/db01prod--vg-root -> ../dm-0 --
-- dev/dm-0 --
-- sys/class/block/dm-0 -> ../../devices/virtual/block/dm-0 --
-- sys/devices/virtual/block/dm-0/dm/name --
db01prod--vg-root
-- sys/devices/virtual/block/dm-0/dm/uuid --
LVM-x
-- sys/devices/virtual/block/dm-0/dev --
253:0
-- proc/9/comm --
mysqld
-- proc/9/stat --
9 (mysqld) S 1 9
-- proc/9/cwd -> /srv/db01prod/data --
-- srv/db01prod/data/ib_logfile0 --
-- .hostlab/statx/srv/db01prod/data/.attr --
free=5
`

const namedArgs = "/usr/sbin/mysqld\x00--datadir=/srv/db01prod/data\x00--wsrep-sst-auth=root:hunter2\x00--report-host=db01prod.corp.example\x00" +
	"--wsrep_cluster_address=gcomm://n1.corp,n2.corp\x00--bind-address=2001:db8:7::7\x00-phunter2\x00--user\x00jane\x00--skip-networking\x00"

func TestRecordLeavesNamesOut(t *testing.T) {
	in := unpack(t, txtar.Parse([]byte(named)))
	testkit.OK(t, os.WriteFile(in.Join("/proc/9/cmdline"), []byte(namedArgs), 0o644))
	asked := []string{"/", "/dev/mapper/db01prod--vg-root"}
	a := record(t, in, "", asked)
	text := string(txtar.Format(a))
	for _, secret := range []string{"db01prod", "hunter2", "corp", "jane", "10.0.0.1", "2001:db8:7"} {
		if strings.Contains(text, secret) {
			t.Errorf("recording contains %q", secret)
		}
	}
	got := members(a)
	want := map[string]string{
		"dev/mapper/host--vg-root -> ../dm-0":    "",
		"sys/devices/virtual/block/dm-0/dm/name": "host--vg-root\n",
		"proc/9/cwd -> ../../srv/host/data":      "",
		".hostlab/statx/srv/host/data/.attr":     "free=5\n",
		"proc/9/cmdline": "/usr/sbin/mysqld\x00--datadir=/srv/host/data\x00--wsrep-sst-auth=redacted\x00--report-host=redacted\x00" +
			"--wsrep_cluster_address=redacted\x00--bind-address=redacted\x00redacted\x00--user\x00redacted\x00--skip-networking\n",
		"proc/self/mountinfo": "22 1 253:0 / / rw shared:1 - ext4 /dev/mapper/host--vg-root rw\n" +
			"31 22 0:44 / /mnt/g rw - fuse.glusterfs redacted rw,default_permissions\n" +
			"32 22 0:45 / /mnt/c rw - ceph redacted rw\n33 22 0:46 / /mnt/d rw - fuse redacted rw\n34 22 0:47 / /mnt/w rw - davfs redacted rw\n",
	}
	for name, content := range want {
		if v, ok := got[name]; !ok || v != content {
			t.Errorf("%s (%v): %s", name, ok, cmp.Diff(content, v))
		}
	}
	out := unpack(t, a)
	before, after := dbsOf(in), dbsOf(out)
	if len(after) != 1 || after[0].LogDir.Or("") != "/srv/host/data" || len(before) != 1 {
		t.Errorf("databases %+v, recorded %+v", before, after)
	}
	if s := StorageOf(out, "/"); s.FSType.Or("") != "ext4" || len(s.Stack) != 1 || s.Stack[0].Label != "host--vg-root" {
		t.Errorf("storage %+v", s)
	}
	testkit.Same(t, got, members(record(t, out, "", []string{"/", "/dev/mapper/host--vg-root"})), "recording of the recording")
}

// A host that is called like a part of every machine is not to be found by that.
func TestHostless(t *testing.T) {
	for _, c := range []struct{ host, in, want string }{
		{"db7.example.com", "db7.example.com db7 db70 xdb7 db7-vg DB7", "host host db70 xdb7 host-vg host"},
		{"sap-01", "/dev/mapper/sap--01--vg-x sap-01", "/dev/mapper/host--vg-x host"},
		{"data", "/dev/mapper/data-log", "/dev/mapper/data-log"},
		{"block", "/sys/block", "/sys/block"},
		{"127", "127", "127"},
		{"pg", "pg", "pg"},
		{"db\xe9x", "of db\xe9x", "of host"},
	} {
		m := recordMask{names: hostNames(c.host, wordsOf([]string{"/sys/block"}))}
		testkit.Is(t, c.want, m.hostless(c.in), c.host)
	}
}

// Of the arguments of a program in Java a recording keeps what says which server it is: a property may hold a password.
func TestRecordLeavesPropertiesOut(t *testing.T) {
	for args, want := range map[string]string{
		"java\x00-Dssl.keyStorePassword=hunter2\x00-cp\x00/x/*\x00org.opensearch.bootstrap.OpenSearch\x00-Ehttp.x=y": "java\x00redacted\x00redacted\x00redacted\x00org.opensearch.bootstrap.OpenSearch\x00redacted",
		"postgres\x00-D/data/pg\x00-D\x00/data/pg\x00-D /data/pg":                                                    "postgres\x00-D/data/pg\x00-D\x00/data/pg\x00-D /data/pg",
	} {
		testkit.Is(t, want, serverArgs(args))
	}
}
