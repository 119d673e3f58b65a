package main

import (
	"strings"
	"testing"

	"hostlab/internal/experiment/runner"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

// What a design calls pairs is called so while it runs.
func TestPairsAreCalledPairs(t *testing.T) {
	for pairs, word := range map[bool]string{true: "pair", false: "block"} {
		p := runner.Progress{Pairs: pairs, Block: 3, Blocks: 10, Most: -1, Last: &result.Run{Block: 3, Status: result.Void, Reason: "x"}}
		for text, want := range map[string]string{lookLine(p): word + "s", runLine(p): strings.ToUpper(word[:1]) + word[1:] + " 4: "} {
			testkit.Has(t, text, want)
		}
	}
}
