package host

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
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
