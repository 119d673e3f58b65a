package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"hostlab"
)

// version and commit are set by the Makefile with -ldflags -X.
var (
	version = ""
	commit  = ""
)

func newVersion(std streams) *cobra.Command {
	licenses := false
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print version, commit, Go release and platform",
		Long: `version prints one line: what make or git named this build, its commit, the Go
release that it was built with, and the platform that it is for. --licenses
prints the license of hostlab and those of all that is linked into it.

Exit status: 0.`,
		Example: `  hostlab version
  hostlab version --licenses | less`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			text := fmt.Sprintf("hostlab %s\n", versionText())
			if licenses {
				text = hostlab.License + "\n" + hostlab.Notice
			}
			_, err := io.WriteString(std.out, text)
			return err
		},
	}
	cmd.Flags().BoolVar(&licenses, "licenses", false, "print the licenses of hostlab and of what is linked into it")
	return cmd
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
