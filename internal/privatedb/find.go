package privatedb

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"hostlab/internal/proc"
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
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second) // a busy guest read MariaDB's program for more than 10 s
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

// Usage is CPU time of a server's processes.
type Usage struct {
	// All is that of those that live or have ended. From one reading to the next it
	// grows or stays. It is exact as long as Ended is the same in both; otherwise it may be
	// wrong by less than Coarse either way, however many have ended.
	All     time.Duration
	Session map[int]time.Duration // of those that live, by process number
	Ended   int64                 // differs from an earlier reading where processes have ended since
}

// Coarse is how exactly Linux tells the CPU time of processes that have ended: user and
// system time are summed to the nanosecond, and shown in whole units each.
const Coarse = 2 * proc.Tick

// Since is what was used since an earlier reading of the same meter. doubt is why it
// should not be shown, where its error may be more than a tenth of it; or empty.
func (u Usage) Since(before Usage) (cpu time.Duration, doubt string) {
	cpu = u.All - before.All
	if u.Ended != before.Ended && cpu < 10*Coarse {
		doubt = fmt.Sprintf(
			"processes of the server ended in the run, and Linux tells their CPU time to %d ms, too little for about "+
				"%d ms: make the run longer",
			Coarse.Milliseconds(), cpu.Milliseconds())
	}
	return cpu, doubt
}

// Tail keeps the end of what programs wrote to stderr.
type Tail struct {
	mu   sync.Mutex
	text []byte
}

const tailBytes = 16 << 10

func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if surplus := len(t.text) - tailBytes; surplus > 0 {
		t.text = append(t.text[:0], t.text[surplus:]...)
	}
	return len(p), nil
}

// Last returns the line that says most about an end: the last error, or else the last
// line.
func (t *Tail) Last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := ""
	for _, line := range slices.Backward(strings.Split(string(t.text), "\n")) {
		line = strings.TrimSpace(line)
		last = cmp.Or(last, line)
		for _, level := range []string{"PANIC:", "FATAL:", "[ERROR]", "error:", "ERROR:"} {
			if strings.Contains(line, level) && !strings.HasSuffix(line, "Aborting") { // MariaDB ends so after the error itself
				return line
			}
		}
	}
	return last
}

// Full reports whether the disk was full.
func (t *Tail) Full() bool {
	// MariaDB gives ENOSPC by its number
	return t.Contains("No space left on device") || t.Contains("Disk quota exceeded") || t.Contains("error 28") ||
		t.Contains("Errcode: 28")
}

// Contains reports whether text was written lately.
func (t *Tail) Contains(text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Contains(t.text, []byte(text))
}

// LastWords is the last line of the log, as the end of a sentence.
func (t *Tail) LastWords() string {
	if line := t.Last(); line != "" {
		return "; its last log line: " + line
	}
	return ""
}

// Reset forgets what was written.
func (t *Tail) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = nil
}
