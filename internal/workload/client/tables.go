package client

import (
	"fmt"
	"math"
	"strings"
)

// The clients: the one that is there, and its copy.
const (
	source = "100"
	target = "200"
)

// column is one of a table, as an ERP system has them: text of fixed formats, and
// decimals.
type column struct {
	name string
	sql  string // its type, the same in PostgreSQL and MariaDB
}

// keys lead every table, behind mandt.
var keys = []column{{"docno", "varchar(10)"}, {"item", "varchar(6)"}}

// fields are what follows, again and again until a table is as wide as it is to be.
var fields = []column{
	{"budat", "varchar(8)"}, {"matnr", "varchar(18)"}, {"menge", "decimal(13,3)"}, {"netwr", "decimal(15,2)"},
	{"waers", "varchar(5)"},
	{"werks", "varchar(4)"}, {"ernam", "varchar(12)"}, {"kunnr", "varchar(10)"}, {"guid", "varchar(32)"},
	{"sgtxt", "varchar(50)"},
}

// widths are numbers of fields, and indexes the columns of secondary indexes behind
// mandt: of both, tables take what their number says.
var (
	widths  = []int{5, 15, 40}
	indexes = []string{"budat", "matnr", "waers, budat"}
)

// lines are how many rows a document has.
const lines = 5

// table is one of them. Columns start with the keys; mandt is not among them.
type table struct {
	name    string
	columns []column
	indexes []string
	rows    int // of a client
}

// layout has the rows spread over that many tables: few large ones and many small, as
// the tables of an ERP system are.
func layout(tables, rows int) []table {
	weights, sum := make([]float64, tables), 0.0
	for i := range weights {
		weights[i] = math.Pow(float64(i+1), -0.8)
		sum += weights[i]
	}
	out := make([]table, tables)
	acc, given := 0.0, 0
	for i := range out {
		acc += weights[i]
		upTo := int(math.Round(float64(rows) * acc / sum))
		if i == tables-1 {
			upTo = rows
		}
		t := table{name: fmt.Sprintf("zclient%02d", i+1), rows: upTo - given, indexes: indexes[:(i+1)%(len(indexes)+1)]}
		given = upTo
		t.columns = append(t.columns, keys...)
		for n := range widths[i%len(widths)] {
			c := fields[n%len(fields)]
			if cycle := n / len(fields); cycle > 0 {
				c.name = fmt.Sprintf("%s%d", c.name, cycle+1)
			}
			t.columns = append(t.columns, c)
		}
		out[i] = t
	}
	return out
}

// names lists the columns, without mandt.
func (t *table) names() string {
	var list []string
	for _, c := range t.columns {
		list = append(list, c.name)
	}
	return strings.Join(list, ", ")
}

// create is the table's definition, in a schema (empty: none). text, where it is not
// empty, stands for the type of every column.
func (t *table) create(schema, text string) []string {
	name := qualified(schema, t.name)
	parts := []string{"mandt varchar(3) NOT NULL"}
	if text != "" {
		parts[0] = "mandt " + text + " NOT NULL"
	}
	for _, c := range t.columns {
		kind := c.sql
		if text != "" {
			kind = text
		}
		parts = append(parts, c.name+" "+kind+" NOT NULL")
	}
	parts = append(parts, "PRIMARY KEY (mandt, docno, item)")
	out := []string{"CREATE TABLE " + name + " (" + strings.Join(parts, ", ") + ")"}
	for i, columns := range t.indexes {
		out = append(out, fmt.Sprintf("CREATE INDEX %s_%d ON %s (mandt, %s)", t.name, i+1, name, columns))
	}
	return out
}

func qualified(schema, name string) string {
	if schema == "" {
		return name
	}
	return schema + "." + name
}

// statements are those of a table, in the words that all engines take. A package goes
// on behind the last row of the one before: rows are compared column by column, since
// MariaDB finds no range for (docno, item) > (?, ?). mark gives the nth parameter.
type statements struct {
	read    string // docno, docno, item of the last row; then so many rows
	keys    string // the same, of the target
	remove  string // docno, docno, item of the last row; docno, docno, item of the new last row
	copyAll string
	dropAll string
}

func (t *table) statements(schema string, limit int, mark func(n int) string) statements {
	name, from := qualified(schema, t.name), "mandt = '"+source+"'"
	to := "mandt = '" + target + "'"
	after := fmt.Sprintf("docno >= %s AND (docno > %s OR item > %s)", mark(1), mark(2), mark(3))
	order := fmt.Sprintf(" ORDER BY docno, item LIMIT %d", limit)
	return statements{
		read: "SELECT " + t.names() + " FROM " + name + " WHERE " + from + " AND " + after + order,
		keys: "SELECT docno, item FROM " + name + " WHERE " + to + " AND " + after + order,
		remove: "DELETE FROM " + name + " WHERE " + to + " AND " + after +
			fmt.Sprintf(" AND docno <= %s AND (docno < %s OR item <= %s)", mark(4), mark(5), mark(6)),
		copyAll: "INSERT INTO " + name + " SELECT '" + target + "', " + t.names() + " FROM " + name + " WHERE " + from,
		dropAll: "DELETE FROM " + name + " WHERE " + to,
	}
}
