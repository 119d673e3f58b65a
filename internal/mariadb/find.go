package mariadb

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// Programs are the server's.
type Programs struct {
	Server  string // path of mariadbd
	Version string // 10.11.19
	Major   int
	Minor   int
}

// oldest is the first version whose redo log is one file with a fixed name, which is
// what moves from directory to directory (10.5; MDEV-20907).
const oldestMajor, oldestMinor = 10, 5

// places are where packages and builds from source put the program.
var places = []string{"/usr/sbin", "/usr/libexec", "/usr/local/mysql/bin", "/usr/local/mariadb/bin", "/opt/mariadb/bin"}

// Missing is a host without MariaDB, or with one that cannot be used.
type Missing struct{ Problem string }

// Error implements error.
func (e *Missing) Error() string {
	return e.Problem + "; install MariaDB's server, such as the package mariadb-server, or put its mariadbd on PATH"
}

// Find looks for the server's program: first on PATH, as who puts it there means it,
// then where packages have it. The error is a *Missing.
func Find(ctx context.Context) (Programs, error) {
	return find(ctx, append(filepath.SplitList(os.Getenv("PATH")), places...))
}

func find(ctx context.Context, dirs []string) (Programs, error) {
	problem := "MariaDB was found neither on PATH nor in /usr/sbin"
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, name := range []string{"mariadbd", "mysqld"} {
			path := filepath.Join(dir, name)
			if _, err := exec.LookPath(path); err != nil {
				continue
			}
			p, err := version(ctx, path)
			switch {
			case ctx.Err() != nil:
				return p, ctx.Err()
			case err != nil:
				problem = err.Error()
			case p.Major < oldestMajor || p.Major == oldestMajor && p.Minor < oldestMinor:
				problem = fmt.Sprintf("MariaDB %s in %s is too old: %d.%d or later is needed", p.Version, dir, oldestMajor, oldestMinor)
			default:
				return p, nil
			}
		}
	}
	return Programs{}, &Missing{problem}
}

var versionText = regexp.MustCompile(`Ver ((\d+)\.(\d+)[.\d]*)-MariaDB`)

// version asks the program itself. MySQL's own server has a program of the same name.
func version(ctx context.Context, path string) (Programs, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--no-defaults", "--version").Output()
	if err != nil {
		return Programs{}, fmt.Errorf("%s --version failed: %w", path, err)
	}
	m := versionText.FindSubmatch(out)
	if m == nil {
		return Programs{}, fmt.Errorf("%s is not MariaDB's, which alone is known here", path)
	}
	major, err1 := strconv.Atoi(string(m[2]))
	minor, err2 := strconv.Atoi(string(m[3]))
	if err1 != nil || err2 != nil {
		return Programs{}, fmt.Errorf("%s --version says %q", path, m[1])
	}
	return Programs{Server: path, Version: string(m[1]), Major: major, Minor: minor}, nil
}
