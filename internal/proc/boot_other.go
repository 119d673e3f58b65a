//go:build !windows

package proc

// Boot names this boot where no file does, as on Linux /proc/sys/kernel/random/boot_id; "": nothing does.
func Boot() string { return "" }
