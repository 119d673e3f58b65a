package main

import (
	"context"
	"errors"
	"strings"

	"hostlab/internal/experiment"
	"hostlab/internal/screen"
)

// permitted asks before anything on the host is changed.
func (o *runOptions) permitted(ctx context.Context, std streams, st *experiment.Study) error {
	var changing []string
	for _, f := range st.Factors {
		if f.Changes() {
			changing = append(changing, f.Name)
		}
	}
	if st.Foreign != nil && !o.resume {
		if o.yes || o.quiet || !askable(std) {
			return usagef("%w, and its commands would run as root; read it, then copy it as yourself (cp) and name the copy",
				st.Foreign)
		}
		if err := permitOutside(ctx, std, st.Foreign.Error(),
			[]string{"and its commands, as listed above, would run as root"}); err != nil {
			return err
		}
	}
	if st.Harm != nil {
		return o.permitLive(ctx, std, st)
	}
	if o.yes {
		return nil
	}
	if err := permitOutside(ctx, std, "workload "+st.Workload.Name, st.Outside()); err != nil {
		return err
	}
	if len(changing) == 0 {
		return nil
	}
	what := "factor " + changing[0] + " changes"
	if len(changing) > 1 {
		what = "factors " + strings.Join(changing, ", ") + " change"
	}
	return permit(ctx, std, what+" this host", ", as listed above", "look at --dry-run, then add --yes")
}

// permit asks whether to go on.
func permit(ctx context.Context, std streams, what, where, unasked string) error {
	what = screen.Clean(what)
	if !askable(std) {
		return usagef("%s, and there is no terminal to ask on; %s", what, unasked)
	}
	err := ask(ctx, std, strings.ToUpper(what[:1])+what[1:]+where+". Go on? [y/N] ")
	if errors.Is(err, errNo) {
		return usagef("not confirmed; nothing was done")
	}
	return err
}

// permitOutside asks before a workload works on something of the user's elsewhere.
func permitOutside(ctx context.Context, std streams, who string, deeds []string) error {
	if len(deeds) == 0 {
		return nil
	}
	return permit(ctx, std, who+" "+strings.Join(deeds, "; "), "", "add --yes")
}
