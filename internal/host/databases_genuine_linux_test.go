//go:build system

package host

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hostlab/internal/testkit"
)

// Any user may start a program of a server's name anywhere: in another's directory, or in one without a server's files, it is
// no server. A server of the user's own is, and so is what root installed, whose directory is not believed then.
func TestFalseServer(t *testing.T) {
	testkit.Root(t)
	const stranger = 12345
	base := testkit.Must(os.MkdirTemp("/var/tmp", "hostlab-test-"))(t)
	t.Cleanup(func() { os.RemoveAll(base) })
	program := filepath.Join(base, "mariadbd")
	for name, c := range map[string]struct {
		owner int
		file  string
		by    int    // who installed the program
		want  string // "" for the directory
	}{
		"another's directory":             {0, "ib_logfile0", stranger, "no server"},
		"another's, of root's program":    {0, "ib_logfile0", 0, "does not belong to the account"},
		"no files":                        {stranger, "", stranger, "no server"},
		"no files, but of root's program": {stranger, "", 0, ""},
		"its own":                         {stranger, "ib_logfile0", stranger, ""},
	} {
		dir := filepath.Join(base, strings.ReplaceAll(name, " ", "-"))
		testkit.OK(t, os.Mkdir(dir, 0o755))
		if c.file != "" {
			testkit.OK(t, os.WriteFile(filepath.Join(dir, c.file), nil, 0o600))
		}
		testkit.OK(t, os.Chown(dir, c.owner, c.owner))
		testkit.OK(t, os.RemoveAll(program))
		cmd := served(t, base, program, dir, stranger)
		testkit.OK(t, os.Chown(program, c.by, c.by))
		var got *Database
		for _, d := range Collect(t.Context(), Options{}).Databases {
			if d.PID == cmd.Process.Pid {
				got = &d
			}
		}
		switch {
		case got == nil && c.want == "no server":
		case got == nil, c.want == "no server":
			t.Errorf("%s: %+v", name, got)
		case c.want == "" && got.LogDir.Or("") != dir, c.want != "" && (got.LogDir.State != StateError || !strings.Contains(got.LogDir.Reason, c.want)):
			t.Errorf("%s: %+v", name, got.LogDir)
		}
	}
}

// served is a copy of cat that waits in a directory, as another user.
func served(t *testing.T, base, program, dir string, user uint32) *exec.Cmd {
	t.Helper()
	cat, err := os.ReadFile("/bin/cat")
	if err == nil {
		err = os.Chmod(base, 0o755) //nolint:gosec // the other user starts it
	}
	if _, serr := os.Stat(program); err == nil && serr != nil {
		if err = os.WriteFile(program, cat, 0o755); err == nil { //nolint:gosec // a program
			err = os.Chown(program, int(user), int(user))
		}
	}
	testkit.OK(t, err)
	cmd := exec.Command(program)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	in, out := io.Pipe()
	t.Cleanup(func() { _ = out.Close(); _ = cmd.Wait() })
	if cmd.Stdin = in; err == nil {
		err = cmd.Start()
	}
	testkit.OK(t, err)
	return cmd
}

// A process of any user may name a device as its configuration: it is not opened, whoever looks, and the settings are not known.
func TestDeviceAsConfiguration(t *testing.T) {
	testkit.Root(t)
	base := testkit.Must(os.MkdirTemp("/var/tmp", "hostlab-test-"))(t)
	t.Cleanup(func() { os.RemoveAll(base) })
	const device = "/dev/hostlab-test-null"
	t.Cleanup(func() { os.Remove(device) })
	sh := testkit.Must(os.ReadFile("/bin/sh"))(t)
	program, link := filepath.Join(base, "mariadbd"), filepath.Join(base, "link")
	for _, err := range []error{
		os.WriteFile(program, sh, 0o755), os.WriteFile(filepath.Join(base, "ibdata1"), nil, 0o600), os.Symlink(device, link),
		syscall.Mknod(device, syscall.S_IFCHR|0o666, 1<<8|3), os.Chmod(base, 0o755), os.Chown(base, 12345, 12345),
	} {
		testkit.OK(t, err)
	}
	opens := opened(t, device)
	for _, named := range []string{device, "/dev/../" + device, link} {
		cmd := exec.Command(program, "-c", "read x", "--defaults-file="+named)
		cmd.Dir = base
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
		in := testkit.Must(cmd.StdinPipe())(t)
		testkit.OK(t, cmd.Start())
		var got Fact[string]
		for _, d := range Collect(t.Context(), Options{}).Databases {
			if d.PID == cmd.Process.Pid {
				got = d.Setting("innodb_flush_method")
			}
		}
		if n := opens(); n != 0 || got.State != StateError {
			t.Errorf("%s: opened %d times; %+v", named, n, got)
		}
		in.Close()
		_ = cmd.Wait()
	}
}
