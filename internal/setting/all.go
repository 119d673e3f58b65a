package setting

// All lists the settings in the order in which they are applied.
func All() []Setting { return nil }
