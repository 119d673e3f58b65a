package setting

import (
	"fmt"
	"strings"
)

// Problem is what is wrong with a journal. But for Unended it may not be used until a person
// has decided: see Journal.Accept and Journal.Forget.
type Problem struct {
	Kind Kind
	Path string // of the journal
	Line int
	What string
	// Names are the objects that may still be changed.
	Names []string
}

// Kind is a kind of problem.
type Kind int

// The kinds of problems.
const (
	Damaged   Kind = iota // lines are lost, or not as they were written
	Lost                  // no change could be read at all
	OtherHost             // it is intact, and of another machine
	Unended               // its last set has no end
)

// Usable reports a problem that does not keep the journal from being used.
func (p *Problem) Usable() bool { return p.Kind == Unended }

func (p *Problem) Error() string {
	return p.Found() + map[Kind]string{
		Damaged: ". Look at it; 'hostlab revert --force' then puts back what could be read of it, and 'hostlab revert " +
			"--forget' sets it aside",
		Lost: ". Compare 'hostlab settings' with what this host should have, or start it again; 'hostlab revert --forget' " +
			"then sets the journal aside",
		OtherHost: ". Use 'hostlab revert --force' if it is this one's, or 'hostlab revert --forget' to set it aside",
		Unended:   "; 'hostlab revert' puts it back",
	}[p.Kind]
}

// Found is what is wrong, without the advice: for those who have followed it.
func (p *Problem) Found() string {
	text := fmt.Sprintf("%s:%d: the journal is damaged: %s", p.Path, p.Line, p.What)
	switch p.Kind {
	case OtherHost:
		return fmt.Sprintf("%s: it is the journal of another machine (%s)", p.Path, p.What)
	case Lost:
		return text + ". Some values may still be changed. The journal does not say which"
	case Unended:
		text = p.Path + ": the last set of changes has no end: hostlab is still writing it, was killed, or the journal was " +
			"cut"
	}
	if len(p.Names) == 0 {
		return text
	}
	const most = 6
	text += "; it names what may still be changed: " + strings.Join(p.Names[:min(most, len(p.Names))], ", ")
	if more := len(p.Names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
