package experiment

import (
	"io"
	"time"

	"hostlab/internal/result"
)

// Overrides are what the command line sets. They are part of a study's identity.
type Overrides struct {
	Blocks int               // exactly so many blocks, with one look; 0: as the study says
	Seed   *uint64           // nil: as the study says
	Set    map[string]string // KEY or workload.KEY -> value as text
}

// Load reads and checks a study file. The error is a *Problems where the file or
// what o sets cannot be used.
func Load(file string, o Overrides) (*Study, error) { panic("not yet") }

// Find loads a study by the name of an embedded one, or from a file where
// nameOrFile holds a path separator or ends in .toml.
func Find(nameOrFile string, o Overrides) (*Study, error) { panic("not yet") }

// Embedded returns the studies inside the binary, by name.
func Embedded() []*Study { panic("not yet") }

// Plan returns the cells of a study and all its blocks in order, up to the last
// look. It is pure: the same study gives the same plan.
func Plan(s *Study) ([]result.Cell, []result.Block) { panic("not yet") }

// Head returns the head of a record: all but ID, Version, Started and Host.
func Head(s *Study) *result.Experiment { panic("not yet") }

// Hash identifies a study: the SHA-256, in hexadecimal, of its file's bytes and of
// the overrides. A study that has another hash may not resume a record.
func Hash(s *Study) string { panic("not yet") }

// Fingerprints are the names that guard.fingerprint may list.
var Fingerprints = []string{"kernel", "microcode", "smt", "mounts", "cpu", "cpus", "governor", "clocksource", "virtualization", "memory", "boot"}

// Duration returns how long a study takes at a time per run: at least, to its
// first look, and at most, to its last or until the budget is spent.
func Duration(s *Study, perRun time.Duration) (least, most time.Duration) { panic("not yet") }

// Describe writes what a study does, for a screen of that width.
func Describe(w io.Writer, s *Study, width int) error { panic("not yet") }
