package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"hostlab"
	"hostlab/internal/check"
	"hostlab/internal/explain/connect"
	"hostlab/internal/fleet"
	"hostlab/internal/host"
	"hostlab/internal/predict"
	"hostlab/internal/report"
	"hostlab/internal/report/effects"
	"hostlab/internal/screen"
	"hostlab/internal/settings"
	"hostlab/internal/workload/scanlock"
)

// version is the release; packages of other commits set one that sorts behind it. The Makefile sets both with -ldflags -X.
var (
	version = "0.2.0"
	commit  = ""
)

func newVersion(std streams) *cobra.Command {
	licenses := false
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print version, commit, Go release and platform",
		Long: `version prints the build's version, commit, Go release and platform. It names
the databases that this build reads or lacks, and the versions of the JSON that
commands write. --licenses prints the license of hostlab and those of all code
linked into it.

Exit status: 0.`,
		Example: `  hostlab version
  hostlab version --licenses | less`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, width := terminal(std.out)
			text := fmt.Sprintf("hostlab %s\n%s", versionText(), features(width))
			if licenses {
				notice, err := hostlab.Notice()
				if err != nil {
					return err
				}
				text = hostlab.License + "\n" + notice
			}
			_, err := io.WriteString(std.out, text)
			return err
		},
	}
	cmd.Flags().BoolVar(&licenses, "licenses", false, "print the licenses of hostlab and of what is linked into it")
	return cmd
}

// schemas are the versions of documents, by the commands that write them.
var schemas = []struct {
	command string
	version int
}{
	{"assess", report.Schema}, {"check", check.Schema}, {"facts", host.Schema},
	{"fleet", fleet.Schema},
	{"predict", predict.Schema}, {"report", effects.Schema}, {"scanlock", scanlock.Schema},
	{"settings", settings.Schema},
}

// features says what this build reads and writes.
func features(width int) string {
	var reads, writes []string
	for _, v := range connect.Vendors() {
		if v.Built() {
			reads = append(reads, v.Product)
		}
	}
	for _, s := range schemas {
		writes = append(writes, fmt.Sprint(s.command, " ", s.version))
	}
	var b strings.Builder
	for _, text := range []string{"Databases: " + strings.Join(reads, ", "), connect.Lacking(), "Versions of JSON: " +
		strings.Join(writes, ", ")} {
		for _, line := range screen.Wrap(text, width) {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// versionText identifies the build: what make set, else the commit that go build knew.
func versionText() string {
	v, c := version, commit
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && c == "" {
				c = s.Value[:min(12, len(s.Value))]
			}
		}
	}
	if c != "" {
		v += " (" + c + ")"
	}
	return fmt.Sprintf("%s %s %s/%s", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
