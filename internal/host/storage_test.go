package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/testkit"
)

const (
	pci0 = "pci0000:00/0000:00:01.0/nvme/nvme0"
	pci1 = "pci0000:00/0000:00:02.0/nvme/nvme1"
)

var flash = map[string]string{
	"queue/rotational": "0", "queue/dax": "0", "queue/write_cache": "write through", "queue/fua": "1",
	"queue/scheduler": "[none] mq-deadline", "queue/nomerges": "0", "queue/read_ahead_kb": "128",
}

func with(base map[string]string, pairs ...string) map[string]string {
	out := map[string]string{}
	for k, v := range base {
		out[k] = v
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		out[pairs[i]] = pairs[i+1]
	}
	return out
}

// twoNVMe is two disks with a partition each.
var twoNVMe = disk("nvme0n1", "259:0", pci0, with(flash, "device/model", "SAMSUNG MZ1", "device/transport", "pcie")) +
	part("nvme0n1p1", "259:1", pci0, "nvme0n1") +
	disk("nvme1n1", "259:2", pci1, with(flash, "device/model", "SAMSUNG MZ2", "device/transport", "pcie")) +
	part("nvme1n1p1", "259:3", pci1, "nvme1n1")

var virtioDisk = disk("vda", "254:0", "pci0000:00/virtio0", with(flash, "queue/write_cache", "write back"))

// pmem can be mounted with DAX if its namespace is fsdax.
func pmem(dax string) string {
	return disk("pmem0", "259:9", "LNXSYSTM:00/ndbus0/region0/namespace0.0", with(flash, "queue/dax", dax))
}

// show is a storage in a few words, one for each layer.
func show(s Storage) []string {
	out := []string{fmt.Sprintf("%s on %s %s", s.Class.Or(string(s.Class.State)), s.MountPoint.Or("?"), s.FSType.Or("?"))}
	for _, l := range s.Stack {
		out = append(out, strings.TrimSpace(strings.Repeat(" ", l.Depth)+l.Name+" "+l.Kind+" "+l.Label))
		if l.Depth > 0 {
			out[len(out)-1] = strings.Repeat("-", l.Depth) + out[len(out)-1]
		}
	}
	return out
}

func TestStorageOf(t *testing.T) {
	const root = "1 0 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw"
	tests := []struct {
		name, archive, path string
		want                []string
		dax                 string // of Fact.Or, or the state
	}{
		{
			name: "LVM on two NVMe disks", path: "/data/log",
			archive: twoNVMe + virtioDisk +
				disk("dm-0", "253:0", "virtual", with(flash, "dm/name", "vg-log", "dm/uuid", "LVM-abc")) +
				slave("dm-0", "nvme0n1p1") + slave("dm-0", "nvme1n1") +
				mountinfo(root, "2 1 253:0 / /data rw - xfs /dev/mapper/vg-log rw,attr2"),
			want: []string{"nvme on /data xfs", "dm-0 lvm vg-log", "-nvme0n1p1 partition", "--nvme0n1 nvme SAMSUNG MZ1", "-nvme1n1 nvme SAMSUNG MZ2"},
			dax:  "false",
		},
		{
			name: "md raid1 on NVMe partitions", path: "/data",
			archive: twoNVMe + virtioDisk +
				disk("md127", "9:127", "virtual", with(flash, "md/level", "raid1", "md/raid_disks", "2", "md/degraded", "1")) +
				slave("md127", "nvme0n1p1") + slave("md127", "nvme1n1p1") +
				mountinfo(root, "2 1 9:127 / /data rw - ext4 /dev/md127 rw"),
			want: []string{"nvme on /data ext4", "md127 md-raid1 2 disks, 1 missing", "-nvme0n1p1 partition", "--nvme0n1 nvme SAMSUNG MZ1",
				"-nvme1n1p1 partition", "--nvme1n1 nvme SAMSUNG MZ2"},
			dax: "false",
		},
		{
			name: "a mirror ends with its slowest part", path: "/data",
			archive: twoNVMe + disk("sda", "8:0", "pci0000:00/ata1/host0/target0:0:0/0:0:0:0",
				map[string]string{"queue/rotational": "1", "device/vendor": "ATA", "device/model": "ST4000"}) +
				disk("md0", "9:0", "virtual", with(flash, "md/level", "raid1")) + slave("md0", "nvme0n1") + slave("md0", "sda") +
				mountinfo(root, "2 1 9:0 / /data rw - ext4 /dev/md0 rw"),
			want: []string{"disk on /data ext4", "md0 md-raid1", "-nvme0n1 nvme SAMSUNG MZ1", "-sda scsi ST4000"},
			dax:  "false",
		},
		{
			name: "dm-crypt over a partition", path: "/secret/a/b",
			archive: twoNVMe + disk("dm-3", "253:3", "virtual", with(flash, "dm/name", "luks", "dm/uuid", "CRYPT-LUKS2-1-luks")) +
				slave("dm-3", "nvme0n1p1") + mountinfo(root, "2 1 253:3 / /secret rw - ext4 /dev/mapper/luks rw"),
			want: []string{"nvme on /secret ext4", "dm-3 crypt luks", "-nvme0n1p1 partition", "--nvme0n1 nvme SAMSUNG MZ1"},
			dax:  "false",
		},
		{
			name: "loop on ext4 on virtio", path: "/img",
			archive: virtioDisk + disk("loop0", "7:0", "virtual", with(flash, "loop/backing_file", "/var/disk.img")) +
				mountinfo(root, "2 1 7:0 / /img rw - xfs /dev/loop0 rw"),
			want: []string{"virtual on /img xfs", "loop0 loop /var/disk.img", "-vda virtio"},
			dax:  "false",
		},
		{
			name: "loop on tmpfs is memory", path: "/img",
			archive: virtioDisk + disk("loop0", "7:0", "virtual", with(flash, "loop/backing_file", "/dev/shm/disk.img (deleted)")) +
				mountinfo(root, "2 1 0:5 / /dev/shm rw - tmpfs tmpfs rw", "3 1 7:0 / /img rw - xfs /dev/loop0 rw"),
			want: []string{"memory on /img xfs", "loop0 loop /dev/shm/disk.img (deleted)"},
			dax:  "false",
		},
		{
			name: "pmem with dax=always", path: "/pmem/log", archive: pmem("1") + mountinfo(root, "2 1 259:9 / /pmem rw - ext4 /dev/pmem0 rw,dax=always"),
			want: []string{"pmem-dax on /pmem ext4", "pmem0 pmem"}, dax: "true",
		},
		{
			name: "pmem with the dax of kernels before 5.8", path: "/pmem", archive: pmem("1") + mountinfo(root, "2 1 259:9 / /pmem rw - xfs /dev/pmem0 rw,dax"),
			want: []string{"pmem-dax on /pmem xfs", "pmem0 pmem"}, dax: "true",
		},
		{
			name: "raw pmem cannot", path: "/pmem", archive: pmem("0") + mountinfo(root, "2 1 259:9 / /pmem rw - ext4 /dev/pmem0 rw"),
			want: []string{"pmem-block on /pmem ext4", "pmem0 pmem"}, dax: "false",
		},
		{
			name: "pmem that could, but nobody asked", path: "/pmem", archive: pmem("1") + mountinfo(root, "2 1 259:9 / /pmem rw - ext4 /dev/pmem0 rw"),
			want: []string{"pmem-block on /pmem ext4", "pmem0 pmem"}, dax: "absent",
		},
		{
			name: "the directory's flag decides", path: "/pmem/log",
			archive: pmem("1") + mountinfo(root, "2 1 259:9 / /pmem rw - ext4 /dev/pmem0 rw") +
				"-- .hostlab/statx/pmem/log --\ninherit=1 free=4096 readonly=0\n",
			want: []string{"pmem-dax on /pmem ext4", "pmem0 pmem"}, dax: "true",
		},
		{
			name: "dax=never", path: "/pmem/log",
			archive: pmem("1") + mountinfo(root, "2 1 259:9 / /pmem rw - ext4 /dev/pmem0 rw,dax=never") +
				"-- .hostlab/statx/pmem/log/.attr --\ninherit=1\n",
			want: []string{"pmem-block on /pmem ext4", "pmem0 pmem"}, dax: "false",
		},
		{
			name: "statx has the last word", path: "/pmem/log",
			archive: pmem("1") + mountinfo(root, "2 1 259:9 / /pmem rw - ext4 /dev/pmem0 rw,dax=always") +
				"-- .hostlab/statx/pmem/log/.attr --\ndax=0\n",
			want: []string{"pmem-block on /pmem ext4", "pmem0 pmem"}, dax: "false",
		},
		{
			name: "NFS", path: "/nfs/x", archive: mountinfo(root, "2 1 0:50 / /nfs rw - nfs4 srv:/x rw,vers=4.2"),
			want: []string{"network on /nfs nfs4"}, dax: "false",
		},
		{
			name: "tmpfs", path: "/tmp/x", archive: virtioDisk + mountinfo(root, "2 1 0:50 / /tmp rw - tmpfs tmpfs rw"),
			want: []string{"memory on /tmp tmpfs"}, dax: "false",
		},
		{
			name: "virtiofs is the host's", path: "/share", archive: mountinfo(root, "2 1 0:50 / /share rw - virtiofs tag rw"),
			want: []string{"virtual on /share virtiofs"}, dax: "false",
		},
		{
			name: "9p over TCP is a network's", path: "/share", archive: mountinfo(root, "2 1 0:50 / /share rw - 9p srv rw,trans=tcp"),
			want: []string{"network on /share 9p"}, dax: "false",
		},
		{
			name: "overlay in a container: Docker's own files tell", path: "/var/lib/x",
			archive: twoNVMe + mountinfo(
				"1 0 0:60 / / rw - overlay overlay rw,lowerdir=/l,upperdir=/var/lib/docker/overlay2/ab/diff,workdir=/w",
				"2 1 259:1 /var/lib/docker/containers/ab/hostname /etc/hostname rw - ext4 /dev/nvme0n1p1 rw"),
			want: []string{"nvme on / overlay", "nvme0n1p1 partition", "-nvme0n1 nvme SAMSUNG MZ1"}, dax: "false",
		},
		{
			name: "overlay of an engine that hides it", path: "/x",
			archive: twoNVMe + mountinfo("1 0 0:60 / / rw - overlay overlay rw,lowerdir=/l,upperdir=/var/lib/containerd/1/fs,workdir=/w"),
			want:    []string{"error on / overlay"}, dax: "false",
		},
		{
			name: "overlay whose upper directory is here", path: "/merged/x",
			archive: virtioDisk + "-- up/a --\n" + mountinfo(root, "2 1 0:60 / /merged rw - overlay overlay rw,lowerdir=/l,upperdir=/up,workdir=/w"),
			want:    []string{"virtual on /merged overlay", "vda virtio"}, dax: "false",
		},
		{
			name: "btrfs on two disks", path: "/data",
			archive: twoNVMe + "-- sys/fs/btrfs/features/x --\n-- sys/fs/btrfs/0b/devices/nvme0n1p1 -> ../../../../class/block/nvme0n1p1 --\n" +
				"-- sys/fs/btrfs/0b/devices/nvme1n1p1 -> ../../../../class/block/nvme1n1p1 --\n" +
				mountinfo(root, "2 1 0:33 /@data /data rw - btrfs /dev/nvme1n1p1 rw,subvol=/@data"),
			want: []string{"nvme on /data btrfs", "nvme0n1p1 partition", "-nvme0n1 nvme SAMSUNG MZ1", "nvme1n1p1 partition",
				"-nvme1n1 nvme SAMSUNG MZ2"}, dax: "false",
		},
		{
			name: "ZFS", path: "/tank/pg", archive: mountinfo(root, "2 1 0:44 / /tank/pg rw - zfs tank/pg rw,xattr"),
			want: []string{"error on /tank/pg zfs"}, dax: "false",
		},
		{
			name: "bind mount", path: "/var/lib/pg/wal",
			archive: twoNVMe + virtioDisk + mountinfo(root, "2 1 259:1 /pg /var/lib/pg rw - ext4 /dev/nvme0n1p1 rw"),
			want:    []string{"nvme on /var/lib/pg ext4", "nvme0n1p1 partition", "-nvme0n1 nvme SAMSUNG MZ1"}, dax: "false",
		},
		{
			name: "blanks in the mount point", path: "/my data/x",
			archive: twoNVMe + mountinfo(root, `2 1 259:1 / /my\040data rw - ext4 /dev/nvme0n1p1 rw`),
			want:    []string{"nvme on /my data ext4", "nvme0n1p1 partition", "-nvme0n1 nvme SAMSUNG MZ1"}, dax: "false",
		},
		{
			name: "an earlier mount hidden by a later one above it", path: "/a/b/c",
			archive: virtioDisk + mountinfo(root, "2 1 0:7 / /a/b rw - nfs srv:/ rw", "3 1 0:8 / /a rw - tmpfs t rw"),
			want:    []string{"memory on /a tmpfs"}, dax: "false",
		},
		{
			name: "two mounts on one point", path: "/a/x",
			archive: virtioDisk + mountinfo(root, "2 1 0:7 / /a rw - nfs srv:/ rw", "3 2 0:8 / /a rw - tmpfs t rw"),
			want:    []string{"memory on /a tmpfs"}, dax: "false",
		},
		{
			name: "links, absolute and relative", path: "/var/lib/pg/pg_wal",
			archive: twoNVMe + virtioDisk + "-- var/lib/pg -> /srv/pg --\n-- srv/pg/pg_wal -> ../../log/wal --\n" +
				mountinfo(root, "2 1 259:1 / /log rw - ext4 /dev/nvme0n1p1 rw"),
			want: []string{"nvme on /log ext4", "nvme0n1p1 partition", "-nvme0n1 nvme SAMSUNG MZ1"}, dax: "false",
		},
		{
			name: "a volume of a cloud that looks like NVMe", path: "/",
			archive: disk("nvme0n1", "259:0", pci0, with(flash, "device/model", "Amazon Elastic Block Store", "device/transport", "pcie")) +
				mountinfo("1 0 259:0 / / rw - xfs /dev/nvme0n1 rw"),
			want: []string{"virtual on / xfs", "nvme0n1 nvme Amazon Elastic Block Store"}, dax: "false",
		},
		{
			name: "NVMe over TCP with two paths", path: "/",
			archive: disk("nvme0n1", "259:0", "virtual/nvme-subsystem/nvme-subsys0", with(flash, "device/nvme0/transport", "tcp", "device/nvme1/transport", "tcp")) +
				mountinfo("1 0 259:0 / / rw - xfs /dev/nvme0n1 rw"),
			want: []string{"network on / xfs", "nvme0n1 nvme"}, dax: "false",
		},
		{
			name: "iSCSI by two paths", path: "/",
			archive: disk("sda", "8:0", "platform/host2/session1/target2:0:0/2:0:0:1", with(flash, "device/vendor", "LIO-ORG", "device/model", "disk0")) +
				disk("dm-1", "253:1", "virtual", with(flash, "dm/name", "mpatha", "dm/uuid", "mpath-3600")) + slave("dm-1", "sda") +
				mountinfo("1 0 253:1 / / rw - xfs /dev/mapper/mpatha rw"),
			want: []string{"network on / xfs", "dm-1 multipath mpatha", "-sda scsi LIO-ORG disk0"}, dax: "false",
		},
		{
			name: "sysfs is masked", path: "/", archive: mountinfo("1 0 259:0 / / rw - xfs /dev/nvme0n1 rw"),
			want: []string{"error on / xfs"}, dax: "absent",
		},
		{
			name: "devices in a circle", path: "/", archive: disk("dm-0", "253:0", "virtual", flash) + slave("dm-0", "dm-0") +
				mountinfo("1 0 253:0 / / rw - ext4 /dev/dm-0 rw"),
			want: nil, dax: "false",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := StorageOf(withPath(t, tree(t, tt.archive), tt.path), tt.path)
			got := show(s)
			if tt.want == nil { // only that it ends
				testkit.Is(t, StateError, s.Class.State, "class", s.Class)
				return
			}
			testkit.Is(t, "", cmp.Diff(tt.want, got), "storage (-want +got)", "class", s.Class)
			dax := string(s.DAX.State)
			if v, ok := s.DAX.Get(); ok {
				dax = fmt.Sprint(v)
			}
			testkit.Is(t, tt.dax, dax, "DAX", s.DAX)
			if strings.HasPrefix(got[0], "error") && s.Class.Reason == "" {
				t.Error("no reason")
			}
		})
	}
}

func TestStorageFacts(t *testing.T) {
	archive := virtioDisk + mountinfo("1 0 254:0 / / rw,relatime - ext4 /dev/vda rw,discard", "2 1 254:0 /x /ro ro,relatime - ext4 /dev/vda rw") +
		"-- .hostlab/statx/.attr --\nfree=123456 readonly=0\n"
	tr := tree(t, archive)
	s := StorageOf(tr, "/")
	for _, c := range []struct{ got, want any }{
		{s.Options.Value, "rw,relatime,discard"}, {s.Device.Value, "/dev/vda"}, {s.ReadOnly.Value, false},
		{s.FreeBytes, Known[int64](123456, "B", "/.hostlab/statx/.attr free")}, {s.NetworkFS(), false},
		{StorageOf(tr, "/ro").ReadOnly.Value, true}, {StorageOf(tr, "/ro").FreeBytes.State, StateAbsent},
	} {
		testkit.Same(t, c.want, c.got)
	}
	list, disks := readStorage(tr, []PathQuery{{"/", "log-dir", 0}, {"/ro", "postgresql log", 7}})
	if len(list) != 2 || list[0].Purpose != "log-dir" || list[1].Purpose != "postgresql log" {
		t.Errorf("storage %+v", list)
	}
	want := []BlockDevice{{
		Name: "vda", Model: disks[0].Model, Size: Known[int64](2048*512, "B", "/sys/class/block/vda/size"),
		Rotational:  Known(false, "", "/sys/class/block/vda/queue/rotational"),
		Scheduler:   Known(Choice{"none", []string{"none", "mq-deadline"}}, "", "/sys/class/block/vda/queue/scheduler"),
		WriteCache:  Known("write back", "", "/sys/class/block/vda/queue/write_cache"),
		FUA:         Known(true, "", "/sys/class/block/vda/queue/fua"),
		DAX:         Known(false, "", "/sys/class/block/vda/queue/dax"),
		NoMerges:    Known[int64](0, "", "/sys/class/block/vda/queue/nomerges"),
		ReadAhead:   Known[int64](131072, "B", "/sys/class/block/vda/queue/read_ahead_kb"),
		Queues:      disks[0].Queues,
		AtomicWrite: disks[0].AtomicWrite,
		IOTimeout:   disks[0].IOTimeout,
		Class:       ClassVirtual,
	}}
	if diff := cmp.Diff(want, disks); diff != "" || disks[0].Model.State != StateAbsent || disks[0].IOTimeout.State != StateAbsent {
		t.Errorf("disks (-want +got):\n%s", diff)
	}
}

func TestDisksLeavesOutWhatHoldsNothing(t *testing.T) {
	tr := tree(t, twoNVMe+disk("zram0", "252:0", "virtual", flash)+disk("ram0", "1:0", "virtual", flash)+
		disk("loop0", "7:0", "virtual", flash)+disk("loop1", "7:1", "virtual", with(flash, "loop/backing_file", "/x"))+
		disk("nbd0", "43:0", "virtual", map[string]string{"size": "0"})+
		disk("nvme0c0n1", "259:7", pci0, map[string]string{"hidden": "1"}))
	var names []string
	_, disks := readStorage(tr, nil)
	for _, d := range disks {
		names = append(names, d.Name)
	}
	testkit.Same(t, []string{"loop1", "nvme0n1", "nvme1n1"}, names)
}

func TestStorageCannotLook(t *testing.T) {
	tests := []struct {
		name, archive string
		path          string
		state         State
		reason        string
	}{
		{"a directory of the database's own", "-- var/lib/pg --\n!errno EACCES\n" + mountinfo("1 0 254:0 / / rw - ext4 /dev/vda rw"),
			"/var/lib/pg/pg_wal", StateDenied, "permission denied: run as root or the database's user"},
		{"links in a circle", "-- a -> b --\n-- b -> /a --\n" + mountinfo("1 0 254:0 / / rw - ext4 /dev/vda rw"),
			"/a/x", StateError, "too many levels of symbolic links"},
		{"a file where a directory should be", "-- a --\nx\n" + mountinfo("1 0 254:0 / / rw - ext4 /dev/vda rw"),
			"/a/x", StateError, "not a directory"},
		{"masked mountinfo", "-- proc/self/mountinfo --\n!errno EACCES\n", "/a", StateDenied, "permission denied"},
		{"garbled mountinfo", "-- proc/self/mountinfo --\n\x01\x02 - \n- - -\n", "/a", StateError, "no line in the form of mountinfo"},
		{"no /proc", "-- x --\n", "/a", StateMasked, "/proc is missing or masked"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := StorageOf(tree(t, tt.archive), tt.path)
			for _, f := range []Fact[string]{s.Class, s.MountPoint, s.FSType, s.Device} {
				if f.State != tt.state || f.Reason != tt.reason {
					t.Errorf("state %q, reason %q", f.State, f.Reason)
				}
			}
		})
	}
}

// A network file system whose server is gone is still known for what it is.
func TestSilentStorage(t *testing.T) {
	m := tree(t, mountinfo("1 0 8:1 / / rw - ext4 /dev/sda1 rw", "2 1 0:40 / /mnt/nfs rw - nfs4 server:/x rw,hard"))
	s := silentStorage(m, "/mnt/nfs/log", ErrNoAnswer)
	if diff := cmp.Diff([]string{"network on /mnt/nfs nfs4"}, show(s)); diff != "" || !s.NetworkFS() || s.Options.Value != "rw,hard" {
		t.Errorf("%+v (-want +got):\n%s", s, diff)
	}
	if s.FreeBytes.State != StateError || s.FreeBytes.Reason != ErrNoAnswer.Error() {
		t.Errorf("free: %+v", s.FreeBytes)
	}
	// A link on a local file system may lead to such a server; what the path says is not to be trusted.
	if s := silentStorage(m, "/link", ErrNoAnswer); s.Class.State == StateOK || s.FSType.State == StateOK {
		t.Errorf("%+v", s)
	}
}

func TestInTime(t *testing.T) {
	t.Parallel()
	if n, err := inTime(func() (int, error) { return 7, fs.ErrExist }); n != 7 || !errors.Is(err, fs.ErrExist) {
		t.Errorf("%d, %v", n, err)
	}
	never := make(chan struct{})
	defer close(never)
	if n, err := inTime(func() (int, error) { <-never; return 7, nil }); n != 0 || !errors.Is(err, ErrNoAnswer) {
		t.Errorf("%d, %v", n, err)
	}
}

// tree lays out a machine from a txtar archive in the form of ExtractArchive. A ␀
// in a file stands for a NUL.
func tree(t testing.TB, archive string) Tree {
	t.Helper()
	root := t.TempDir()
	testkit.OK(t, ExtractArchive([]byte(strings.ReplaceAll(archive, "␀", "\x00")), root))
	return Tree{Root: root}
}

// disk is the archive of a whole disk with the files that most tests want.
func disk(name, dev, hardware string, files map[string]string) string {
	at := "sys/devices/" + hardware + "/block/" + name
	s := "-- sys/block/" + name + " -> ../" + strings.TrimPrefix(at, "sys/") + " --\n" +
		"-- sys/class/block/" + name + " -> ../../" + strings.TrimPrefix(at, "sys/") + " --\n" +
		"-- sys/dev/block/" + dev + " -> ../../" + strings.TrimPrefix(at, "sys/") + " --\n" +
		"-- " + at + "/dev --\n" + dev + "\n" +
		"-- " + at + "/slaves/ --\n"
	if _, ok := files["size"]; !ok {
		s += "-- " + at + "/size --\n2048\n"
	}
	for f, content := range files {
		s += "-- " + at + "/" + f + " --\n" + content + "\n"
	}
	return s
}

// part is the archive of a partition of such a disk.
func part(name, dev, hardware, of string) string {
	at := "devices/" + hardware + "/block/" + of + "/" + name
	return "-- sys/class/block/" + name + " -> ../../" + at + " --\n" +
		"-- sys/dev/block/" + dev + " -> ../../" + at + " --\n" +
		"-- sys/" + at + "/partition --\n1\n-- sys/" + at + "/dev --\n" + dev + "\n"
}

// slave puts a device below a stacked one.
func slave(of, device string) string {
	return "-- sys/devices/virtual/block/" + of + "/slaves/" + device + " -> ../../../../../class/block/" + device + " --\n"
}

func mountinfo(lines ...string) string {
	return "-- proc/self/mountinfo --\n" + strings.Join(lines, "\n") + "\n"
}

// withPath makes a path part of a recording, as asking about it would have done.
func withPath(t testing.TB, tr Tree, path string) Tree {
	t.Helper()
	v, inView := viewOf(tr, path)
	resolved, err := v.resolve(inView)
	if err == nil {
		err = os.MkdirAll(tr.Join(v.root+resolved), 0o755)
	}
	testkit.OK(t, err)
	return tr
}
