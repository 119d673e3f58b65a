package probe

// All lists the probes in the order in which assess runs them. Their shares add
// up to 1.
func All() []Probe {
	return []Probe{NewWakeup(), NewSiblings(), NewCommit(), NewDegree()}
}
