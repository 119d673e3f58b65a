package assess

// requested is what Windows asks for.
const requested = "% of Maximum Frequency"

// pageWalks is why they are not known.
const pageWalks = "page walks are not counted; Intel VTune and AMD uProf show them"

func allowed(int) []int { return nil }
