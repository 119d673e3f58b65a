package probe

import "hostlab/internal/result"

// disturbedLabel marks a measurement whose conditions others disturbed beyond
// repair. Its value completes a sentence, as in "others took part of it in 9 of 12
// rounds".
const disturbedLabel = "disturbed"

// settled takes the evidence from what is not known: nothing was measured.
func settled(all []result.Measurement) []result.Measurement {
	for i := range all {
		if !all[i].Known() {
			all[i].Evidence = ""
		}
	}
	return all
}
