package model

// Parameter is a number that a policy's rule uses, under the name by which its
// operating system knows it.
type Parameter struct {
	Name  string  `json:"name"` // powercfg alias or sysfs name
	Value float64 `json:"value"`
	Unit  string  `json:"unit"` // s, Hz, or "" for shares (1 is 100 %), counts and choices
	// Known is false when the default is not documented or not verified; then
	// Alternatives holds the other values that Sensitivity tries.
	Known        bool      `json:"known"`
	Alternatives []float64 `json:"alternatives,omitempty"`
	Low          float64   `json:"low"`  // smallest value allowed
	High         float64   `json:"high"` // largest value allowed
	Source       string    `json:"source"`
	Meaning      string    `json:"meaning"`
	// Choices names the values 0, 1, 2, ... of a parameter that is a choice.
	Choices []string `json:"choices,omitempty"`
}

// Policy is a rule with its parameters. Get one from ParsePolicy.
type Policy struct {
	// Name is what ParsePolicy got, with an alias resolved: balanced-rs1,
	// ondemand, fixed:57, ...
	Name       string      `json:"name"`
	Title      string      `json:"title"`
	Parameters []Parameter `json:"parameters"`
	// Note says what a reader has to know before believing the figures: an
	// unverified rule, a simplification. Empty when there is nothing.
	Note string `json:"note,omitempty"`
	// Bounds is set for policies whose choice is made in hardware (HWP, CPPC).
	// They are not simulated; Compare simulates their lowest and their highest
	// frequency instead and marks the two rows.
	Bounds bool `json:"bounds,omitempty"`

	rule rule
}
