package burstlog

import (
	"regexp"
	"slices"
)

var (
	emulated = regexp.MustCompile(`clock emulated as ([^\s,;]+)`)
	waiting  = regexp.MustCompile(`(?i)\bwait(s|ed|ing)?\b`)
)

// EmulatedPolicy is the power policy that slowed the clock on which the bursts were
// made, as the head's source tells it, or "" where nothing did. Lengths from such a
// clock are not work at full speed: a prediction would slow them down twice.
func (h Head) EmulatedPolicy() string {
	m := emulated.FindStringSubmatch(h.Source)
	if m == nil || slices.Contains([]string{"none", "high-performance", "performance"}, m[1]) {
		return ""
	}
	return m[1]
}

// Waits tells whether the source says that bursts hold waiting besides computing.
func (h Head) Waits() bool { return waiting.MatchString(h.Source) }
