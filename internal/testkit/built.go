//go:build system

package testkit

// Built reports whether this program has the tests with the build tag system.
const Built = true
