package main

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"hostlab/internal/check"
)

// roleFile says what this host is for where --role does not, so that a timer asks for no flag.
const roleFile = "/etc/hostlab/role"

// roleFlag adds --role to a command that judges a host.
func roleFlag(cmd *cobra.Command, role *check.Role) {
	choiceFlag(cmd, role, "role", check.ProductionDB, "what the host is for (also settable in "+roleFile+")", check.Roles)
}

// ownRole is the role of this host that file names, unless --role was given.
func ownRole(cmd *cobra.Command, file string, role *check.Role) error {
	if cmd.Flags().Changed("role") {
		return nil
	}
	data, err := readTrusted(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return usagef("%s: %w", file, plain(err))
	}
	var words []string
	for line := range strings.Lines(string(data)) {
		if text, _, _ := strings.Cut(line, "#"); strings.TrimSpace(text) != "" {
			words = append(words, strings.TrimSpace(text))
		}
	}
	switch len(words) {
	case 0:
		return nil
	case 1:
		if err := (&word[check.Role]{"role", role, check.Roles}).Set(words[0]); err != nil {
			return usagef("%s: %w", file, err)
		}
		return nil
	}
	return usagef("%s: expected one role, got %d lines", file, len(words))
}
