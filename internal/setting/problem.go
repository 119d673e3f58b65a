package setting

import (
	"fmt"
	"strings"
)

// Problem is why a journal may not be used until a person has decided: see
// Journal.Accept and Journal.Forget.
type Problem struct {
	Path string // of the journal
	Line int    // 0: all of it
	What string
	// Names are the objects that may still be changed.
	Names []string
	// Lost says that no change could be read at all.
	Lost bool
	// Gone says that the file is not there, though its marks are.
	Gone bool
	// OtherHost says that it is intact, and of another machine.
	OtherHost bool
}

func (p *Problem) Error() string {
	switch {
	case p.Lost, p.Gone:
		return p.Found() + ". Compare 'hostlab settings' with what this host should have, or start it again; 'hostlab revert --forget' then ends this warning"
	case p.OtherHost:
		return p.Found() + ". Use 'hostlab revert --force' if it is this one's, or 'hostlab revert --forget' to set it aside"
	}
	return p.Found() + ". Look at it; 'hostlab revert --force' then puts back what could be read of it, and 'hostlab revert --forget' sets it aside"
}

// Found is what is wrong, without the advice: for those who have followed it.
func (p *Problem) Found() string {
	text, names := fmt.Sprintf("%s:%d: the journal is damaged: %s", p.Path, p.Line, p.What), "it names"
	switch {
	case p.OtherHost:
		return fmt.Sprintf("%s: it is the journal of another machine (%s)", p.Path, p.What)
	case p.Lost:
		return text + ". Some values may still be changed. The journal does not say which"
	case p.Gone:
		text, names = p.Path+": the journal is gone, and not by hostlab", "its marks name"
	}
	return text + listed(names, p.Names)
}

// listed names what may still be changed, some of it; "" for nothing.
func listed(who string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	const most = 6
	text := "; " + who + " what may still be changed: " + strings.Join(names[:min(most, len(names))], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
