// Command mkhost writes the made 512-CPU server into a folder, for benchmarks
// and for looking at: go run ./bench/mkhost DIR
package main

import (
	"fmt"
	"os"

	"hostlab/internal/testkit"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: mkhost DIR")
		os.Exit(2)
	}
	if err := testkit.Made512(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "mkhost:", err)
		os.Exit(1)
	}
}
