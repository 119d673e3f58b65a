package assess

// requested is what Windows asks for.
const requested = "% of Maximum Frequency"

// pageWalks is why they are not known.
const pageWalks = "page walks are not counted; Intel VTune and AMD uProf show them"

// nearby is why a server was reached on this host whose processes are not looked at.
const nearby = "on Windows hostlab does not find out which processes are a named server's; 'hostlab assess --service " +
	"PROGRAM' watches them"

func allowed(int) []int { return nil }
