package logcommit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
	"hostlab/internal/workload"
	"hostlab/internal/workload/workloadtest"
)

// made is an operating system that answers as told.
func made(statErr, writeErr error) kernel {
	return kernel{
		stat: func(dir string) (fs.FileInfo, error) {
			if statErr != nil {
				return nil, &fs.PathError{Op: "stat", Path: dir, Err: statErr}
			}
			return os.Stat(os.TempDir())
		},
		writable: func(dir string) error {
			if writeErr != nil {
				return &fs.PathError{Op: "access", Path: dir, Err: writeErr}
			}
			return nil
		},
		complete: func(s host.Storage, _ string) host.Storage { return s },
	}
}

func storage(fsType string) host.Storage {
	return host.Storage{FSType: host.Known(fsType, "", "mountinfo"), ReadOnly: host.Known(false, "", "statfs"),
		FreeBytes: host.Known(int64(1<<30), "B", "statfs")}
}

func TestPreflight(t *testing.T) {
	readOnly, full, remote, iscsi := storage("ext4"), storage("xfs"), storage("fuse.newfs"), storage("ext4")
	readOnly.ReadOnly.Value = true
	full.FreeBytes.Value = 3 << 20
	remote.Class = host.Known(host.ClassNetwork, "", "mountinfo")
	iscsi.Class = host.Known(host.ClassNetwork, "", "sysfs")
	iscsi.Stack = []host.StackLayer{{Name: "sda", Kind: "iscsi"}}
	for _, c := range []struct {
		name    string
		storage host.Storage
		kernel  kernel
		want    []string // parts of the line; none: accepted
		cause   error
	}{
		{name: "fine", storage: storage("ext4"), kernel: made(nil, nil)},
		{name: "memory", storage: storage("tmpfs"), kernel: made(nil, nil)},
		{name: "overlay", storage: storage("overlay"), kernel: made(nil, nil)},
		{name: "nothing known", kernel: made(nil, nil)},
		{name: "network block device", storage: iscsi, kernel: made(nil, nil)},
		{name: "missing", storage: storage("ext4"), kernel: made(syscall.ENOENT, nil),
			want: []string{"does not exist", "create it"}, cause: fs.ErrNotExist},
		{name: "below a file", storage: storage("ext4"), kernel: made(syscall.ENOTDIR, nil),
			want: []string{"not a directory"}, cause: syscall.ENOTDIR},
		{name: "hidden", storage: storage("ext4"), kernel: made(syscall.EACCES, nil),
			want: []string{"not writable by this user"}, cause: fs.ErrPermission},
		{name: "not writable", storage: storage("ext4"), kernel: made(nil, syscall.EACCES),
			want: []string{"not writable by this user", "run as the user who owns it"}, cause: fs.ErrPermission},
		{name: "read-only", storage: readOnly, kernel: made(nil, nil), want: []string{"mounted read-only"},
			cause: syscall.EROFS},
		{name: "read-only by access", storage: storage("ext4"), kernel: made(nil, syscall.EROFS),
			want: []string{"mounted read-only"}, cause: syscall.EROFS},
		{name: "full", storage: full, kernel: made(nil, nil), want: []string{"3.0 MiB free, 80 MiB needed", "make room"},
			cause: syscall.ENOSPC},
		{name: "nfs", storage: storage("nfs4"), kernel: made(nil, nil), want: []string{"on NFS (nfs4)", "local device"}},
		{name: "9p", storage: storage("9p"), kernel: made(nil, nil), want: []string{"on 9P (9p)"}},
		{name: "a table of its own would lack this", storage: storage("fuse.blobfuse2"), kernel: made(nil, nil),
			want: []string{"on Azure Blob Storage"}},
		{name: "a guest's disk", storage: storage("virtiofs"), kernel: made(nil, nil)},
		{name: "device nodes", storage: storage("devtmpfs"), kernel: made(nil, nil), want: []string{"on devtmpfs"}},
		{name: "smb", storage: storage("cifs"), kernel: made(nil, nil), want: []string{"on SMB (cifs)", "local device"}},
		{name: "a server that is gone", storage: storage("nfs4"), kernel: made(host.ErrNoAnswer, nil),
			want: []string{"does not answer", "server is up"}, cause: host.ErrNoAnswer},
		{name: "another network", storage: remote, kernel: made(nil, nil),
			want: []string{"a network file system (fuse.newfs)"}},
		{name: "proc", storage: storage("proc"), kernel: made(nil, nil), want: []string{"on proc", "holds no files"}},
		{name: "cgroup", storage: storage("cgroup2"), kernel: made(nil, nil), want: []string{"on cgroup2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := preflight(c.storage, "/log/dir", 80<<20, c.kernel)
			if len(c.want) == 0 {
				testkit.OK(t, err)
				return
			}
			de, ok := errors.AsType[*DirError](err)
			if !ok {
				t.Fatalf("%v (%T) is not a *DirError", err, err)
			}
			if de.Dir != "/log/dir" || !strings.HasPrefix(err.Error(), "log directory /log/dir: ") ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("not one line that names the directory: %q", err)
			}
			for _, w := range append(c.want, "--log-dir") {
				if w == "--log-dir" && strings.Contains(de.Remedy, "not a file") {
					continue
				}
				testkit.Has(t, err.Error(), w)
			}
			if c.cause != nil && !errors.Is(err, c.cause) {
				t.Errorf("%q hides its cause %v", err, c.cause)
			}
		})
	}
}

func TestPreflightOfThisSystem(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	testkit.OK(t, os.WriteFile(file, nil, 0o600))
	if err := Preflight(host.Storage{}, dir, CommitBytes); err != nil {
		t.Errorf("a temporary directory: %v", err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none"):      "does not exist",
		file:                            "not a directory",
		filepath.Join(file, "below"):    "",
		"":                              "no name",
		filepath.Join(dir, "no", "way"): "does not exist",
	} {
		err := Preflight(host.Storage{}, path, CommitBytes)
		if _, ok := errors.AsType[*DirError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	testkit.Fails(t, Preflight(host.Storage{}, dir, 1<<60), "needed", "an exbibyte")
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("Preflight left something: %v, %v", entries, err)
	}
}

func TestDirErrorKeepsWhatItDoesNotKnow(t *testing.T) {
	err := dirError("/d", &fs.PathError{Op: "fdatasync", Path: "/d/x", Err: syscall.ENXIO})
	if got, want := err.Error(),
		"log directory /d: fdatasync: no such device or address: name another with --log-dir"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if dirError("/d", nil) != nil {
		t.Error("no error became one")
	}
}

func TestContract(t *testing.T) {
	workloadtest.Contract(t, Workload{}, workloadtest.Config{
		Params:     map[string]any{"count": int64(20), "size": "64KiB", "lead": int64(2)},
		Long:       map[string]any{"rate": 20.0, "count": int64(1000)},
		Operations: 20,
		Work: func(t *testing.T, s workload.Session, _ workload.Sample) any {
			log := s.(*session).log
			b := testkit.Must(contents(log))(t)
			return b[log.off-CommitBytes+8 : log.off-CommitBytes+512] // a sector of the last commit, but for its number
		},
		Stalled: func(t *testing.T, stall time.Duration) (workload.Session, workload.Request, float64) {
			const rate = 500
			v := testkit.Must(workload.Check(Workload{}.Describe(),
				map[string]any{"rate": float64(rate), "arrivals": "even", "count": int64(250), "size": "64KiB"}))(t)
			s := &session{work: t.TempDir(), delay: func(n int) {
				if n == 20 {
					time.Sleep(stall)
				}
			}}
			return s, workload.Request{Params: v}, rate
		},
	})
}

func TestWorkloadDirectory(t *testing.T) {
	base := t.TempDir()
	file := filepath.Join(base, "file")
	testkit.OK(t, os.WriteFile(file, nil, 0o600))
	for name, c := range map[string]struct {
		given map[string]any
		want  string
	}{
		"missing": {map[string]any{"dir": "no-such"}, "parameter dir: " + filepath.Join(base, "no-such") +
			": does not exist"},
		"a file":    {map[string]any{"dir": "file"}, "not a directory"},
		"odd bytes": {map[string]any{"size": int64(5000)}, "parameter size: 5000 is not a multiple of 4096"},
	} {
		v := testkit.Must(workload.Check(Workload{}.Describe(), c.given))(t)
		_, err := Workload{}.Open(t.Context(), workload.Config{Params: v, Dir: base, Work: base})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "--log-dir") {
			t.Errorf("%s gave %v, want %q in it", name, err, c.want)
		}
	}
}

// A duration ends a run before its count is reached; levels of layout and size
// make the file anew.
func TestLevels(t *testing.T) {
	dir := t.TempDir()
	check := func(given map[string]any) workload.Params {
		t.Helper()
		return testkit.Must(workload.Check(Workload{}.Describe(), given))(t)
	}
	first := check(map[string]any{"count": int64(3)})
	s := testkit.Must(Workload{}.Open(t.Context(), workload.Config{Params: first, Dir: dir, Work: dir}))(t)
	defer s.Close()
	run := func(given map[string]any) workload.Sample {
		t.Helper()
		return testkit.Must(s.Run(t.Context(), workload.Request{Params: check(given)}))(t)
	}
	if got := run(map[string]any{"count": int64(3)}); got.Operations != 3 || got.Missing["p99"] == "" ||
		got.Values["p50"] <= 0 {
		t.Errorf("three commits: %+v", got)
	}
	if got := run(map[string]any{"count": int64(1000000), "duration": "500ms", "layout": "overwritten",
		"size": "32KiB"}); got.Operations == 1000000 || got.Operations == 0 {
		t.Errorf("%d commits in 500 ms", got.Operations)
	}
	mustBeEmpty(t, dir) // the file has no name
	if info, err := s.(*session).log.f.Stat(); err != nil || info.Size() != 32<<10 {
		t.Errorf("the file was not made anew: %v, %v", info, err)
	}
}
