package host

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/testkit"
)

// seeds are those of the damaged trees that TestCorruptTrees reads.
func seeds() (list []uint64) {
	for seed := range uint64(24) {
		list = append(list, seed)
	}
	return list
}

// No tree, whatever is in it, may keep us from an answer: not a FIFO without a
// writer, not links in circles, not a list of all numbers.
func TestCorruptTrees(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no fixtures", err)
	}
	for _, seed := range testkit.Sample(seeds(), 6) {
		r := rand.New(rand.NewPCG(seed, 1))
		data := testkit.Must(os.ReadFile(files[r.IntN(len(files))]))(t)
		dir := t.TempDir()
		testkit.OK(t, ExtractArchive(data, dir))
		done := corrupt(t, r, dir)
		answersSoon(t, Tree{Root: dir}, fmt.Sprint("seed ", seed, done))
	}
}

// answersSoon collects and records, which takes some 10 ms.
func answersSoon(t *testing.T, tree Tree, what string) {
	t.Helper()
	answer := make(chan error, 1)
	go func() {
		Collect(context.Background(), Options{Tree: tree, Paths: []PathQuery{{Path: "/"}, {Path: "/mnt/p/log"}}})
		answer <- Record(context.Background(), tree, "", []string{"/"}, io.Discard)
	}()
	select {
	case err := <-answer:
		if err != nil {
			t.Error(what, err)
		}
	case <-time.After(time.Until(testkit.End(t))):
		stacks := make([]byte, 1<<20)
		t.Fatalf("no answer: %s\n%s", what, stacks[:runtime.Stack(stacks, true)])
	}
}

// corrupt damages files and folders of a tree, and says how.
func corrupt(t *testing.T, r *rand.Rand, dir string) (done []string) {
	root := testkit.Must(os.OpenRoot(dir))(t)
	defer root.Close()
	var names, dirs []string
	testkit.OK(t, fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		if p != "." {
			names = append(names, p)
		}
		if d.IsDir() {
			dirs = append(dirs, p)
		}
		return err
	}))
	for range 1 + r.IntN(30) {
		name, other := names[r.IntN(len(names))], dirs[r.IntN(len(dirs))]
		if r.IntN(3) == 0 && len(dirs) > 1 {
			name = dirs[1+r.IntN(len(dirs)-1)]
		}
		info, err := root.Lstat(name)
		if err != nil {
			continue // gone with its folder
		}
		var data []byte
		if info.Mode().IsRegular() {
			data = testkit.Must(root.ReadFile(name))(t)
		}
		testkit.OK(t, root.RemoveAll(name))
		how := r.IntN(8)
		switch how {
		case 0:
			parent := testkit.Must(root.Open(path.Dir(name)))(t)
			err = syscall.Mkfifo(fmt.Sprintf("/proc/self/fd/%d/%s", parent.Fd(), path.Base(name)), 0o644)
			parent.Close()
		case 1:
			err = root.Symlink(path.Base(name), name)
		case 2:
			err = root.Symlink("..", name)
		case 3:
			err = root.Symlink("/"+other, name)
		case 4:
			back := strings.Repeat("../", strings.Count(name, "/"))
			err = root.Symlink(back+other, name)
		case 5:
			err = root.WriteFile(name, []byte("0-65535"), 0o644)
		case 6:
			err = root.WriteFile(name, []byte(strings.Repeat("0-65535:1/65536,", 1000)), 0o644)
		case 7:
			if len(data) > 0 {
				data[r.IntN(len(data))] ^= 1 << r.IntN(8)
			}
			err = root.WriteFile(name, []byte(strings.Repeat(string(data), 1+r.IntN(3))), 0o644)
		}
		if err != nil {
			t.Fatal(name, err)
		}
		done = append(done, fmt.Sprintf("%s %d", name, how))
	}
	return done
}

// Devices that lie below each other have no bottom: with n of them there would be
// n^16 layers. Both a real circle and a link to a folder of all devices make one.
func TestStackCircle(t *testing.T) {
	archive := mountinfo("1 0 253:0 / / rw - ext4 /dev/dm-0 rw")
	for i := range 5 {
		archive += disk(fmt.Sprint("dm-", i), fmt.Sprint("253:", i), "virtual", nil)
	}
	circle := tree(t, strings.ReplaceAll(archive, "slaves/ --", "slaves -> ../../../../class/block --"))
	answersSoon(t, circle, "slaves that are all devices")
	s := StorageOf(circle, "/")
	if n := len(s.Stack); n < maxDepth || n > maxLayers+maxDepth {
		t.Errorf("%d layers", n)
	}
	if s.Class.State == StateOK {
		t.Errorf("class %+v", s.Class)
	}
}

// Files that are read in part, or by a library, wait for no FIFO and follow no
// link out of the recording.
func TestRecordedFilesStayInside(t *testing.T) {
	const meminfo = "MemTotal: 1024 kB\n"
	outside := tree(t, "-- proc/cpuinfo --\nmodel name: stranger\n-- proc/stat --\ncpu 1 1 1 1 1 1 1 1\n-- proc/meminfo --\n"+meminfo+
		"-- proc/pressure/cpu --\nsome avg10=0.00 avg60=5.00 avg300=0.00 total=1\n-- cwd/x --\n")
	kinds := map[string]func(dir, name string) error{
		"link": func(dir, name string) error {
			return os.Symlink(filepath.Join(outside.Root, name), filepath.Join(dir, name))
		},
		"fifo": func(dir, name string) error { return syscall.Mkfifo(filepath.Join(dir, name), 0o644) },
	}
	for kind, put := range kinds {
		in := tree(t, "-- proc/pressure/io --\n")
		for _, name := range []string{"proc/cpuinfo", "proc/stat", "proc/meminfo", "proc/pressure/cpu"} {
			testkit.OK(t, put(in.Root, name))
		}
		answersSoon(t, in, kind)
		f := Collect(context.Background(), Options{Tree: in})
		for name, got := range map[string]AnyFact{"model": f.Identity.CPUModel, "steal": f.Virt.Steal, "memory": f.Memory.Total, "pressure": f.Kernel.PressureCPU} {
			if v, _, _, state, _ := got.Any(); state == StateOK {
				t.Errorf("%s: %s is %v", kind, name, v)
			}
		}
	}
	far := tree(t, "-- a -> "+outside.Root+"/cwd --\n")
	if mode, err := far.lstat("/a/x"); err == nil {
		t.Errorf("a file outside is %v", mode)
	}
	proc := tree(t, "-- proc -> "+outside.Root+"/proc --\n")
	if v, ok := readMemory(proc).Total.Get(); ok {
		t.Errorf("%d B of memory by a link", v)
	}
}

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
