package database

import (
	"fmt"
	"slices"
)

// SameDevice says which directories of levels lie on one device, and so make no contrast
// of devices: a sentence for each pair, in the order of the levels. dirs has the
// levels' directories by their names. What cannot be looked at is left out.
func SameDevice(levels []string, dirs map[string]string) (warnings []string) {
	seen := map[uint64]string{}
	for _, level := range slices.Compact(slices.Clone(levels)) {
		dev, ok := device(dirs[level])
		if !ok {
			continue
		}
		if before, there := seen[dev]; there {
			warnings = append(warnings, fmt.Sprintf("levels %s and %s lie on the same device (%s and %s): between them there is no contrast of devices", before, level, dirs[before], dirs[level]))
			continue
		}
		seen[dev] = level
	}
	return warnings
}
