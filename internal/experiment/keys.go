package experiment

// Limits that no sensible study reaches; they keep a slip of the keyboard from
// becoming a plan of gigabytes.
const (
	maxBlocks = 10_000
	maxAA     = 1000
	maxCells  = 256
	maxRuns   = 1_000_000
	maxTables = 100  // of one name
	maxList   = 1000 // elements of a list
)

// Units are the base units that a response may have, the plain number last.
var Units = []string{"s", "Hz", "B", "1/s", "B/s", "J", "W", "ratio", "%", ""}

// Fingerprints are the names that guard.fingerprint may list.
var Fingerprints = []string{"kernel", "microcode", "smt", "mounts", "cpu", "cpus", "governor", "clocksource",
	"virtualization",
	"memory", "boot"}

// Looks of blocks, of split plots, and of pairs of periods.
var (
	defaultLooks     = []int{9, 10, 11, 12, 14, 17, 20, 25, 30, 37, 45}
	defaultPlotLooks = []int{5, 8, 12}
	defaultPairLooks = []int{10, 14, 20, 30, 43, 60, 86, 120}
)

// dwell is how many runs a level is held before its effect is called none: of a host that takes 3 runs to follow it,
// the last 9 of 12 show nine tenths of what it costs (bench/verdicts, laws).
const dwell = 12

// Repeats of a cell within a boot unless the study says otherwise.
const defaultRepeats = 3
