package postgres

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// Programs are the server's, of one version.
type Programs struct {
	Dir     string // has initdb and postgres
	Version string // 15.18
	Major   int
}

// oldest is the first version that has all of the settings that this package and its
// users set (plan_cache_mode and jit are older; 12 ended its support in 2024).
const oldest = 12

// places are where packages put the programs: Debian's, then those of PGDG and Red
// Hat, SUSE, and builds from source.
var places = []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/lib/postgresql*/bin", "/usr/local/pgsql/bin"}

// BinVariable names the environment variable that says in which directory the programs
// are. Where it is set, nothing else is tried.
const BinVariable = "HOSTLAB_PG_BIN"

// Missing is a host without PostgreSQL, or with one that is too old.
type Missing struct{ Problem string }

// Error implements error.
func (e *Missing) Error() string {
	return e.Problem + "; install PostgreSQL's server, such as the package postgresql (Debian, Ubuntu) or postgresql-server (Red Hat, SUSE), or say where its initdb and postgres are with " + BinVariable + "=DIR"
}

// Find looks for the newest server programs: where HOSTLAB_PG_BIN says, and otherwise
// first on PATH, as who puts them there means them, then where packages have them. The
// error is a *Missing.
func Find(ctx context.Context) (Programs, error) { return find(ctx, places) }

func find(ctx context.Context, places []string) (best Programs, err error) {
	old := ""
	try := func(dir string) {
		for _, name := range []string{"initdb", "postgres"} {
			if _, err := exec.LookPath(filepath.Join(dir, name)); err != nil {
				return
			}
		}
		p, err := version(ctx, dir)
		switch {
		case err != nil:
		case p.Major < oldest:
			old = fmt.Sprintf("PostgreSQL %s in %s is too old: %d or later is needed", p.Version, dir, oldest)
		case p.Major > best.Major:
			best = p
		}
	}
	told, onPath := os.Getenv(BinVariable), filepath.SplitList(os.Getenv("PATH"))
	if told != "" {
		try(told)
		places, onPath = nil, nil
	}
	for _, dir := range onPath {
		if filepath.IsAbs(dir) && best.Dir == "" {
			try(dir)
		}
	}
	if best.Dir != "" {
		return best, nil
	}
	for _, pattern := range places {
		dirs, err := filepath.Glob(pattern)
		if err != nil {
			return best, err
		}
		slices.Sort(dirs)
		for _, dir := range dirs {
			try(dir)
		}
	}
	switch {
	case ctx.Err() != nil:
		return best, ctx.Err()
	case best.Dir != "":
		return best, nil
	case old != "":
		return best, &Missing{old}
	}
	if told != "" {
		return best, &Missing{fmt.Sprintf("%s=%s is no directory with programs initdb and postgres that run", BinVariable, told)}
	}
	return best, &Missing{"PostgreSQL was found neither on PATH nor in /usr/lib/postgresql/*/bin"}
}

var versionText = regexp.MustCompile(`\(PostgreSQL\) ((\d+)\S*)`)

// version asks the program itself.
func version(ctx context.Context, dir string) (Programs, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return Programs{}, err
	}
	m := versionText.FindSubmatch(out)
	if m == nil {
		return Programs{}, fmt.Errorf("%s/postgres --version says %q", dir, out)
	}
	major, err := strconv.Atoi(string(m[2]))
	return Programs{Dir: dir, Version: string(m[1]), Major: major}, err
}
