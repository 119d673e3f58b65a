package setting

// What tests ask of a journal, which is that of /j but for the first.

func pending(sys *System, dir string) ([]Entry, error) { //nolint:unparam // tests on Linux have other directories
	v, err := Look(sys, dir)
	if err != nil {
		return nil, err
	}
	return v.Entries(), usable(v)
}

func verify(sys *System) ([]Outcome, error) {
	v, err := Look(sys, "/j")
	if err != nil {
		return nil, err
	}
	return v.Verify(), usable(v)
}

func usable(v *View) error {
	if p := v.Problem(); p != nil {
		return p
	}
	return nil
}

// trouble is what is found wrong with a journal; "": nothing.
func trouble(v *View) string {
	if p := v.Trouble(); p != nil {
		return p.Found()
	}
	return ""
}

func troubled(sys *System) (string, error) {
	v, err := Look(sys, "/j")
	if err != nil {
		return "", err
	}
	return trouble(v), nil
}

func tidy(sys *System) error {
	v, err := Look(sys, "/j")
	if err != nil {
		return err
	}
	return v.Tidy()
}
