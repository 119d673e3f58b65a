package host

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"hostlab/internal/testkit"
)

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
	if diff := cmp.Diff(got, members(record(t, out, "", []string{"/", "/dev/mapper/host--vg-root"}))); diff != "" {
		t.Errorf("recording of the recording (-first +second):\n%s", diff)
	}
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
