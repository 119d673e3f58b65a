package probe

import "hostlab/internal/result"

// settled takes the evidence from what is not known: nothing was measured.
func settled(all []result.Measurement) []result.Measurement {
	for i := range all {
		if !all[i].Known() {
			all[i].Evidence = ""
		}
	}
	return all
}
