package main

import (
	"github.com/spf13/cobra"

	"hostlab/internal/check"
)

func newExplainCheck(std streams) *cobra.Command {
	return &cobra.Command{
		Use:   "explain-check ID",
		Short: "Why a check matters, who says so and who disagrees",
		Long: `explain-check prints the long text of one check: what it reads, why it matters,
its severity in each role, the sources and where they disagree. Type 'list' in
place of an ID to name all checks.

Exit status: 0 done, 2 no such check.`,
		Example: `  hostlab explain-check PWR-001
  hostlab explain-check list`,
		Args: takes(1, 1, "one ID of a check, such as PWR-001, or list"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var ids []string
			if len(args) == 0 {
				for _, c := range check.All() {
					ids = append(ids, c.ID+"\t"+c.Title)
				}
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] == "list" {
				return printDocument(std, check.List(check.All()), "text")
			}
			c, err := check.Find(args[0])
			if err != nil {
				return usageError{err}
			}
			return printDocument(std, check.Explain(c), "text")
		},
	}
}
