package experiment

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hostlab/internal/screen"
	"hostlab/internal/trust"
	"hostlab/internal/workload"
	"hostlab/studies"
)

// Overrides are what the command line sets. They are part of a study's identity.
type Overrides struct {
	AA     int     // pairs of the baseline with itself first; 0: as the study says
	Blocks int     // exactly so many blocks, with one look; 0: as the study says
	Seed   *uint64 // nil: as the study says
	Quick  bool    // short periods on a service in use
	// workload.KEY, settle, level.NAME for its directory, setting.NAME or server.NAME for a level of it -> value as text
	Set map[string]string

	BuiltIn string // the name of the study, where it is inside the binary; Find sets it
}

// Known is what a study may name beside its own factors. Which values a setting takes is a
// matter of the host.
type Known struct {
	Workloads []workload.Workload
	Setting   func(typed string) (name string, err error)  // of a setting, or of a sysctl that is one
	Policy    func(policy string, floor float64) (_ error) // what is wrong with an emulated power policy
}

// maxFile is far above any study; what is larger was named by mistake. go-toml
// takes time with the square of a table's keys (v2.4.3): a minute for a megabyte.
const (
	maxFile  = 64 << 10
	tooLarge = "is larger than 64 KiB; a study is a TOML file of a few kilobytes"
)

// Load reads and checks a study file. The error is a *Problems where the file or
// what o sets cannot be used.
func Load(file string, o Overrides, k Known) (*Study, error) {
	source, foreign, err := readFile(file)
	if err != nil {
		return nil, &Problems{[]Problem{{File: file, Text: err.Error()}}}
	}
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	s, err := Parse(file, dir, source, o, k)
	if s != nil {
		s.Foreign = foreign
	}
	return s, err
}

// readFile reads a study's bytes, and says who else than root may have written them. It reads
// plain files only: opening a pipe may wait for ever, and a device may never end.
func readFile(file string) (source []byte, foreign, err error) {
	f, foreign, err := trust.ForRoot(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, errors.New("no such file; 'hostlab study list' names the studies that need none")
	case err != nil:
		return nil, nil, trust.Bare(err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, nil, trust.Bare(err)
	case info.IsDir():
		return nil, nil, errors.New("is a directory; name the study file in it")
	case !info.Mode().IsRegular():
		return nil, nil, errors.New("is a device or a pipe; a study is a plain file")
	}
	source, err = readAll(f) // it may grow, and files in /proc have no size
	return source, foreign, err
}

func readAll(r io.Reader) ([]byte, error) {
	source, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, trust.Bare(err)
	}
	if len(source) > maxFile {
		return nil, errors.New(tooLarge)
	}
	return source, nil
}

// Read reads and checks the study of a stream, whose files are sought in the current directory.
func Read(name string, r io.Reader, o Overrides, k Known) (*Study, error) {
	source, err := readAll(r)
	if err != nil {
		return nil, &Problems{[]Problem{{File: name, Text: err.Error()}}}
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	return Parse(name, dir, source, o, k)
}

// IsFile reports whether a word of the command line names a study file rather than
// a study inside the binary.
func IsFile(nameOrFile string) bool {
	return strings.ContainsRune(nameOrFile, '/') || strings.ContainsRune(nameOrFile, filepath.Separator) ||
		strings.HasSuffix(nameOrFile, ".toml")
}

// Find loads a study by the name of an embedded one, or from a file where
// nameOrFile holds a path separator or ends in .toml.
func Find(nameOrFile string, o Overrides, k Known) (*Study, error) {
	if IsFile(nameOrFile) {
		return Load(nameOrFile, o, k)
	}
	file := nameOrFile
	if _, ok := lives[file]; ok {
		file = live
	}
	source, err := studies.Files.ReadFile(file + ".toml")
	if err != nil {
		p := Problem{Text: fmt.Sprintf("no built-in study %q", screen.Short(nameOrFile)),
			Near: screen.Meant(nameOrFile, Names())}
		if p.Near == "" {
			p.Text += "; 'hostlab study list' names them. Write a file with its directory, or as NAME.toml"
		}
		return nil, &Problems{[]Problem{p}}
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	o.BuiltIn = nameOrFile
	return Parse(nameOrFile+".toml", dir, liveSource(nameOrFile, source), o, k)
}

// Names lists the names of the studies inside the binary.
func Names() []string {
	return slices.Sorted(slices.Values(slices.Concat(files(), slices.Collect(maps.Keys(lives)))))
}

// files lists the studies inside the binary.
func files() (list []string) {
	entries, err := studies.Files.ReadDir(".")
	if err != nil {
		panic(err) // the root of an embedded file system is always there
	}
	for _, e := range entries {
		list = append(list, strings.TrimSuffix(e.Name(), ".toml"))
	}
	return list
}

// Embedded returns the studies inside the binary, by name. A test holds that each
// can be read.
func Embedded(k Known) (list []*Study) {
	for _, name := range files() {
		if s, err := Find(name, Overrides{}, k); err == nil {
			list = append(list, s)
		}
	}
	return list
}
