package host

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hostlab/internal/testkit"
)

// A database that writes to a block device itself has the device for its log;
// the file system that the device's name lies on is in memory, and is not it.
func TestStorageOfBlockDevice(t *testing.T) {
	archive := twoNVMe + virtioDisk +
		disk("dm-0", "253:0", "virtual", with(flash, "dm/name", "vg-log", "dm/uuid", "LVM-abc")) + slave("dm-0", "nvme1n1") +
		"-- dev/asm -> nvme0n1p1 --\n-- dev/disk/by-id/lun -> ../../vda --\n-- sys/class/block/vda/ro --\n1\n" +
		"-- dev/shm/vda/ --\n" +
		mountinfo("1 0 254:0 / / rw - ext4 /dev/vda rw", "2 1 0:5 / /dev rw - devtmpfs dev rw", "3 2 0:6 / /dev/shm rw - tmpfs t rw")
	tests := []struct {
		path string
		want []string
	}{
		{"/dev/vda", []string{"virtual on ? none (raw block device)", "vda virtio"}},
		{"/dev/disk/by-id/lun", []string{"virtual on ? none (raw block device)", "vda virtio"}},
		{"/dev/asm", []string{"nvme on ? none (raw block device)", "nvme0n1p1 partition", "-nvme0n1 nvme SAMSUNG MZ1"}},
		{"/dev/mapper/vg-log", []string{"nvme on ? none (raw block device)", "dm-0 lvm vg-log", "-nvme1n1 nvme SAMSUNG MZ2"}},
		{"/dev/shm/vda", []string{"memory on /dev/shm tmpfs"}},
	}
	tr := tree(t, archive)
	for _, tt := range tests {
		s := StorageOf(tr, tt.path)
		testkit.Same(t, tt.want, show(s), tt.path)
		if s.Raw() != (s.Options.State == StateAbsent) || s.Raw() && (s.Options.Reason == "" || s.DAX.State != StateAbsent) {
			t.Errorf("%s: options %+v, DAX %+v", tt.path, s.Options, s.DAX)
		}
	}
	if s := StorageOf(tr, "/dev/vda"); !s.ReadOnly.Or(false) || s.Device.Value != "/dev/vda" || s.NetworkFS() {
		t.Errorf("%+v", s)
	}
}

// A recording says nothing of a path that it does not have; what / is on would
// be a guess.
func TestStorageOfUnheldPath(t *testing.T) {
	tr := tree(t, virtioDisk+mountinfo("1 0 254:0 / / rw - ext4 /dev/vda rw", "2 1 0:5 / /dev rw - devtmpfs d rw", "3 1 254:0 / /data rw - ext4 /dev/vda rw")+
		"-- here/ --\n-- .hostlab/statx/asked/.attr --\nfree=1\n-- .hostlab/statx/file --\nfree=1\n-- link -> nowhere --\n")
	for path, known := range map[string]bool{
		"/": true, "/data": true, "/here": true, "/asked": true, "/file": true,
		"/zzz": false, "/data/zzz": false, "/dev/zzz": false, "/link": false,
	} {
		s := StorageOf(tr, path)
		testkit.Is(t, (s.Class.State == StateOK), known, path, s.Class)
		if !known && (s.Class.State != StateError || s.Class.Reason != "the recording does not hold it" || s.MountPoint.State == StateOK) {
			t.Errorf("%s: %+v", path, s.Class)
		}
	}
}

func TestStorageOfOtherNodes(t *testing.T) {
	dir := t.TempDir()
	fifo, socket, file := filepath.Join(dir, "fifo"), filepath.Join(dir, "s"), filepath.Join(dir, "file")
	testkit.OK(t, syscall.Mkfifo(fifo, 0o600))
	l := testkit.Must(net.Listen("unix", socket))(t)
	defer l.Close()
	testkit.OK(t, os.WriteFile(file, []byte("x"), 0o600))
	for path, want := range map[string]string{"/dev/null": "a character device", fifo: "a FIFO", socket: "a socket"} {
		s := StorageOf(Tree{}, path)
		if s.Class.State != StateError || !strings.Contains(s.Class.Reason, want) || len(s.Stack) > 0 || s.Raw() {
			t.Errorf("%s: %+v", path, s.Class)
		}
	}
	// A file is where its directory is.
	if d, f := StorageOf(Tree{}, dir), StorageOf(Tree{}, file); f.MountPoint.State != StateOK || f.MountPoint.Value != d.MountPoint.Value || f.Class.Value != d.Class.Value {
		t.Errorf("%+v, %+v", f, d)
	}
}

func TestOverlayWithRelativeUpper(t *testing.T) {
	tr := tree(t, virtioDisk+"-- up/ --\n-- merged/ --\n"+mountinfo("1 0 254:0 / / rw - ext4 /dev/vda rw",
		"2 1 0:50 / /merged rw - overlay o rw,lowerdir=low,upperdir=up,workdir=work"))
	s := StorageOf(tr, "/merged")
	if s.Class.State != StateError || !strings.Contains(s.Class.Reason, "relative") {
		t.Errorf("%+v", s.Class)
	}
}
