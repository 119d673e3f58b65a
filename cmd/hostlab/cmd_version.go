package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version and commit are set by the Makefile with -ldflags -X.
var (
	version = ""
	commit  = ""
)

func newVersion(std streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print version, commit, Go release and platform",
		Long: `version prints one line: what make or git named this build, its commit, the Go
release that it was built with, and the platform that it is for.

Exit status: 0.`,
		Example: "  hostlab version",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(std.out, "hostlab %s\n", versionText())
			return err
		},
	}
}

// versionText identifies the build: what make set, else what go install knew.
func versionText() string {
	v, c := version, commit
	if info, ok := debug.ReadBuildInfo(); ok {
		if v == "" {
			v = info.Main.Version
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && c == "" {
				c = s.Value[:min(12, len(s.Value))]
			}
		}
	}
	if v == "" || v == "(devel)" {
		v = "devel"
	}
	if c != "" {
		v += " (" + c + ")"
	}
	return fmt.Sprintf("%s %s %s/%s", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
