package privatedb

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Programs are a server's, of one version.
type Programs struct {
	Server       string // path of its program; the others lie beside it
	Version      string // 15.18
	Major, Minor int
}

// Missing is a host without a vendor's programs, or with some that cannot be used.
type Missing struct {
	Problem string
	Install string
}

func (e *Missing) Error() string { return e.Problem + "; " + e.Install }

// Find looks for the server's programs: in the directory that the vendor's variable names
// and nowhere else; or the first on PATH; or the newest where packages have them. The error
// is a *Missing.
func (v *Vendor) Find(ctx context.Context) (Programs, error) {
	return v.find(ctx, v.places)
}

func (v *Vendor) find(ctx context.Context, places []string) (best Programs, err error) {
	problem := v.Product + " was found neither on PATH nor in " + v.places[0]
	try := func(dir string) {
		p, why := v.look(ctx, dir)
		switch {
		case why != "":
			problem = why
		case p.Major > best.Major || p.Major == best.Major && p.Minor > best.Minor:
			best = p
		}
	}
	if dir := os.Getenv(v.variable); v.variable != "" && dir != "" {
		problem = fmt.Sprintf("%s=%s is no directory with programs %s that run", v.variable, dir,
			strings.Join(append(v.needs, v.servers...), " and "))
		try(dir)
		places = nil
	} else {
		for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
			if filepath.IsAbs(dir) && best.Server == "" {
				try(dir)
			}
		}
	}
	for _, pattern := range places {
		if best.Server != "" {
			break
		}
		dirs, err := filepath.Glob(pattern)
		if err != nil {
			return best, err
		}
		for _, dir := range dirs {
			try(dir)
		}
	}
	switch {
	case ctx.Err() != nil:
		return best, ctx.Err()
	case best.Server == "":
		return best, &Missing{problem, v.install}
	}
	return best, nil
}

// look returns the programs in a directory; why is what is wrong with those that are there.
func (v *Vendor) look(ctx context.Context, dir string) (p Programs, why string) {
	for _, name := range v.needs {
		if _, err := exec.LookPath(filepath.Join(dir, name)); err != nil {
			return p, ""
		}
	}
	for _, name := range v.servers {
		path := filepath.Join(dir, name)
		if _, err := exec.LookPath(path); err != nil {
			continue
		}
		p, err := v.ask(ctx, path)
		switch {
		case err != nil:
			return Programs{}, err.Error()
		case p.Major < v.oldest[0] || p.Major == v.oldest[0] && p.Minor < v.oldest[1]:
			least := strings.TrimSuffix(fmt.Sprintf("%d.%d", v.oldest[0], v.oldest[1]), ".0")
			return Programs{}, fmt.Sprintf("%s %s in %s is too old: %s or later is needed", v.Product, p.Version, dir, least)
		}
		return p, ""
	}
	return p, ""
}

// ask asks the program itself: others have programs of the same name.
func (v *Vendor) ask(ctx context.Context, path string) (p Programs, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, v.versionArgs...).Output()
	if err != nil {
		return p, fmt.Errorf("%s --version failed: %w", path, err)
	}
	m := v.version.FindSubmatch(out)
	if m == nil {
		return p, fmt.Errorf("%s is not %s's", path, v.Product)
	}
	p = Programs{Server: path, Version: string(m[1])}
	if p.Major, err = strconv.Atoi(string(m[2])); err == nil && len(m[3]) > 0 {
		p.Minor, err = strconv.Atoi(string(m[3]))
	}
	return p, err
}
