//go:build !windows

package host

import "context"

// collectOS adds the facts of systems that have neither /proc nor /sys.
func collectOS(context.Context, *Facts) {}

// osServers are found in /proc.
func osServers() []Database { return nil }

// osTopology is asked on systems that are neither Linux nor Windows.
func osTopology() Topology { return readTopology(Tree{}) }

// volumeOf is asked on systems that are neither Linux nor Windows.
func volumeOf(string) (volume, string, error) { return volume{}, "", errForeign }
