package command

import "testing"

// TestMistake tells a command line that is wrong from what may pass. The texts are those of the programs named.
func TestMistake(t *testing.T) {
	for _, c := range []struct {
		status int
		said   string
		wrong  bool
	}{
		{1, "gzip: unrecognized option '--bogus'\nTry `gzip --help' for more information.", true},
		{1, "fio-3.33\nfio: unrecognized option '--bogus'\nDid you mean: --output", true},
		{2, "flag provided but not defined: -bogus\nUsage of bench:", true},
		{2, "usage: job.py [-h]\njob.py: error: unrecognized arguments: --bogus", true},
		{2, "error: unexpected argument '--bogus' found", true},
		{9, "node: bad option: --bogus", true},
		{2, "curl: option --bogus: is unknown", true},
		{1, "dd: unrecognized operand 'oflags=direct'", true},
		{1, "gzip: none.log: No such file or directory", true},
		{2, "Traceback (most recent call last):\n  File \"job.py\"\nFileNotFoundError: [Errno 2] No such file or directory: 'x'", true},
		{127, "sh: 1: bench: not found", true},
		{127, "", true},
		{126, "env: './bench': Permission denied", true},
		{2, `psql: error: connection to server on socket "/run/.s.PGSQL.5432" failed: No such file or directory`, false},
		{1, "cannot connect: Connection refused", false},
		{1, "write: Invalid argument", false},
		{1, "out of memory", false},
		{-1, "gzip: none.log: No such file or directory", false},
	} {
		line, wrong := mistake(c.status, []byte(c.said), usefulLine([]byte(c.said)))
		if wrong != c.wrong || c.said != "" && line == "" {
			t.Errorf("%d %q: %q, %t", c.status, c.said, line, wrong)
		}
	}
}
