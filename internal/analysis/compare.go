package analysis

// Comparison lines up the same effects of several experiments.
type Comparison struct {
	Experiments []*Analysis
	Rows        []Row
	// Warnings are the conditions that differ, one each, as sentences.
	Warnings []string
}

// Row is one effect across experiments.
type Row struct {
	Contrast string    // as Name writes it
	Response string    // its name
	Effects  []*Effect // one for each experiment; nil where it has none
}

// Compare lines up the effects of experiments of different days and hosts.
func Compare(all []*Analysis) Comparison { panic("to come") }
