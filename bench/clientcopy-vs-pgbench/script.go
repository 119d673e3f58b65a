package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"

	"hostlab/bench/psql"
)

// size is how many rows a package has.
const size = 200

// tables are those of the workload, as it left them, and a script for psql that copies their
// client as the workload does, with literals in place of parameters.
type tables struct {
	socket string
	names  []string
}

func read(ctx context.Context, socket string) (*tables, error) {
	names, err := psql.Run(ctx, socket, "SELECT tablename FROM pg_tables WHERE tablename LIKE 'zclient%' ORDER BY 1", "-At")
	return &tables{socket: socket, names: strings.Fields(string(names))}, err
}

// keep has the rows of the client beside the tables, and writes the script.
func (t *tables) keep(ctx context.Context, file string) error {
	var script bytes.Buffer
	for _, name := range t.names {
		out, err := psql.Run(ctx, t.socket, "SELECT string_agg(attname, ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = '"+name+"'::regclass AND attnum > 1", "-At")
		if err != nil {
			return err
		}
		columns := strings.TrimSpace(string(out)) // without mandt, the first
		rows, err := psql.Run(ctx, t.socket, "CREATE TABLE keep_"+name+" AS SELECT * FROM "+name+" WHERE mandt = '100';\n"+
			"COPY (SELECT "+columns+" FROM "+name+" WHERE mandt = '100' ORDER BY docno, item) TO STDOUT")
		if err != nil {
			return err
		}
		write(&script, name, columns, strings.FieldsFunc(string(rows), func(r rune) bool { return r == '\n' }))
	}
	return os.WriteFile(file, script.Bytes(), 0o600)
}

// write appends the statements of a table: reads of packages, and an insert and a commit each.
func write(to *bytes.Buffer, name, columns string, rows []string) {
	doc, item := "", ""
	for from := 0; ; from += size {
		fmt.Fprintf(to, "SELECT %s FROM %s WHERE mandt = '100' AND docno >= '%s' AND (docno > '%s' OR item > '%s') ORDER BY docno, item LIMIT %d;\n", columns, name, doc, doc, item, size)
		part := rows[min(from, len(rows)):min(from+size, len(rows))]
		if len(part) == 0 {
			return
		}
		fmt.Fprintf(to, "BEGIN;\nINSERT INTO %s (mandt, %s) VALUES ", name, columns)
		for i, row := range part {
			if i > 0 {
				to.WriteByte(',')
			}
			values := strings.Split(strings.ReplaceAll(row, "'", "''"), "\t")
			to.WriteString("('200','" + strings.Join(values, "','") + "')")
			doc, item = values[0], values[1]
		}
		to.WriteString(";\nCOMMIT;\n")
		if len(part) < size {
			return
		}
	}
}

// fill has the tables as a run of the workload finds them.
func (t *tables) fill(ctx context.Context) error {
	all := strings.Join(t.names, ", ")
	script := "BEGIN;\nTRUNCATE " + all + ";\n"
	for _, name := range t.names {
		script += "INSERT INTO " + name + " SELECT * FROM keep_" + name + ";\n"
	}
	_, err := psql.Run(ctx, t.socket, script+"COMMIT;\nVACUUM (ANALYZE) "+all+";\nCHECKPOINT;\n")
	return err
}
