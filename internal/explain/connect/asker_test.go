package connect

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/tools/txtar"

	"hostlab/internal/explain"
)

// recorded answers from a txtar archive: the file NAME.N holds the rows of the Nth
// answer to the query NAME, a line each, columns apart by tabs, \N for NULL, lines that
// begin with # left out. Where there are fewer answers than questions the last one is
// given again. A first line "!error TEXT" is an error.
type recorded struct {
	files map[string]string
	asked map[string]int
}

// newRecorded reads an archive.
func newRecorded(archive []byte) *recorded {
	r := &recorded{files: map[string]string{}, asked: map[string]int{}}
	for _, f := range txtar.Parse(archive).Files {
		r.files[f.Name] = string(f.Data)
	}
	return r
}

// Ask implements explain.Asker.
func (r *recorded) Ask(ctx context.Context, q explain.Query) ([]explain.Row, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.asked[q.Name]++
	for n := r.asked[q.Name]; n > 0; n-- {
		text, ok := r.files[fmt.Sprintf("%s.%d", q.Name, n)]
		if !ok {
			continue
		}
		return parseRows(text)
	}
	return nil, fmt.Errorf("no answer to %s was recorded", q.Name)
}

func parseRows(text string) (out []explain.Row, err error) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "#") || line == "" {
			continue
		}
		if e, ok := strings.CutPrefix(line, "!error "); ok {
			return nil, fmt.Errorf("%s", e)
		}
		var row explain.Row
		for c := range strings.SplitSeq(line, "\t") {
			row = append(row, struct {
				String string
				Valid  bool
			}{c, c != `\N`})
		}
		for i := range row {
			if !row[i].Valid {
				row[i].String = ""
			}
		}
		out = append(out, row)
	}
	return out, nil
}

// Close implements explain.Asker.
func (r *recorded) Close() error { return nil }
