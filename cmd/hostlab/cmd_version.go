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
	"hostlab/internal/document"
	"hostlab/internal/explain/connect"
	"hostlab/internal/fleet"
	"hostlab/internal/host"
	"hostlab/internal/predict"
	"hostlab/internal/report"
	"hostlab/internal/report/effects"
	"hostlab/internal/settings"
	"hostlab/internal/workload/scanlock"
)

// version is the release; packages of other commits set one that sorts behind it. The Makefile sets both with -ldflags
// -X.
var (
	version = "0.2.0"
	commit  = ""
)

func newVersion(std streams) *cobra.Command {
	var (
		licenses bool
		out      printing
	)
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print version, commit, Go release and platform",
		Long: `version prints the build's version, commit, Go release and platform. It names
the databases that this build reads or lacks, and the versions of the JSON that
commands write. --licenses prints the license of hostlab and those of all code
linked into it.

Exit status: 0 done, 2 unusable flag.`,
		Example: `  hostlab version
  hostlab version --format json | jq -r .version
  hostlab version --licenses | less`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			if !licenses {
				return out.print(std, versionDocument())
			}
			notice, err := hostlab.Notice()
			if err != nil {
				return err
			}
			return out.each(std, func(w io.Writer, form string) error {
				if form != "text" {
					return usagef("--licenses prints text alone")
				}
				_, err := io.WriteString(w, hostlab.License+"\n"+notice)
				return err
			})
		},
	}
	out.flags(cmd, std, tableForms)
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

// build is version as JSON.
type build struct {
	document.Head
	Version   string         `json:"version"`
	Commit    string         `json:"commit"` // "": not known
	Go        string         `json:"go"`
	OS        string         `json:"os"`
	Arch      string         `json:"arch"`
	Databases []string       `json:"databases"` // that this build reads
	Schemas   map[string]int `json:"schemas"`   // of the JSON that each command writes
}

// versionDocument says what this build is, reads and writes.
func versionDocument() *document.Document {
	v, c := identity()
	b := build{document.Head{Kind: "version", Schema: 1}, v, c, runtime.Version(), runtime.GOOS, runtime.GOARCH, nil,
		map[string]int{}}
	var writes []string
	for _, v := range connect.Vendors() {
		if v.Built() {
			b.Databases = append(b.Databases, v.Product)
		}
	}
	for _, s := range schemas {
		b.Schemas[s.command] = s.version
		writes = append(writes, fmt.Sprint(s.command, " ", s.version))
	}
	d := &document.Document{Name: "version", Title: "hostlab " + v, Data: b,
		Answer: []document.Line{{Text: "hostlab " + versionText()}, {Text: connect.Lacking()}},
		Sections: []document.Section{document.Titled("This build", document.Pairs{
			{Name: "Databases", Value: strings.Join(b.Databases, ", ")},
			{Name: "Versions of JSON", Value: strings.Join(writes, ", ")}})}}
	d.Rows = document.PairRows(d.Sections)
	return d
}

// identity is what make set, else the commit that go build knew.
func identity() (v, c string) {
	v, c = version, commit
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && c == "" {
				c = s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return v, c
}

// versionText identifies the build.
func versionText() string {
	v, c := identity()
	if c != "" {
		v += " (" + c + ")"
	}
	return fmt.Sprintf("%s %s %s/%s", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
