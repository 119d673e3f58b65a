// Command record writes a recording of the machine it runs on to standard
// output, for machines where hostlab itself is not wanted: testbed guests.
//
//	record [-comment TEXT] [PATH...]
//
// Called under another name than record, or bin as guests have it, it does
// nothing but wait: a stand-in for a server in a guest that has none.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/watch"
)

func main() {
	if name := filepath.Base(os.Args[0]); name != "record" && name != "bin" {
		time.Sleep(time.Hour)
		return
	}
	comment := flag.String("comment", "", "head of the archive: what machine, how recorded")
	flag.Parse()
	out := bufio.NewWriter(os.Stdout)
	err := host.Record(context.Background(), host.Tree{}, *comment, flag.Args(), out, watch.Read)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}
