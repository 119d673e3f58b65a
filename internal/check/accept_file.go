package check

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"hostlab/internal/screen"
)

// ReadExceptions reads a TOML file of exceptions, whose tables are named accept. The error is a line: what is wrong,
// and where.
func ReadExceptions(data []byte) ([]Exception, error) {
	var file struct {
		Accept []struct {
			Check, Host, Reason, By string
			Until                   toml.LocalDate
		}
	}
	d := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return nil, inLine(err)
	}
	var list []Exception
	for i, a := range file.Accept {
		e := Exception{Check: a.Check, Host: a.Host, Reason: a.Reason, By: a.By}
		if a.Until != (toml.LocalDate{}) {
			e.Until = a.Until.String()
		}
		if problem := e.problem(); problem != "" {
			return nil, fmt.Errorf("%s: %s", placeOf(data, i), screen.Clean(problem))
		}
		list = append(list, e)
	}
	return list, nil
}

// inLine makes one line of an error of the TOML reader.
func inLine(err error) error {
	if strict, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(strict.Errors) > 0 {
		line, _ := strict.Errors[0].Position()
		return fmt.Errorf(
			"line %d: there is no %s; an exception is a table [[accept]] with check, host, reason, until and by", line,
			screen.Short(screen.Clean(strings.Join(strict.Errors[0].Key(), "."))))
	}
	if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := wrong.Position()
		if key := wrong.Key(); len(key) > 0 {
			want := "a text in quotes"
			if key[len(key)-1] == "until" {
				want = "a day without quotes, as 2027-03-31"
			}
			return fmt.Errorf("line %d: %s takes %s", line, screen.Short(screen.Clean(strings.Join(key, "."))), want)
		}
		return fmt.Errorf("line %d: %s", line, screen.Clean(strings.TrimPrefix(wrong.Error(), "toml: ")))
	}
	return errors.New(screen.Clean(err.Error()))
}

// placeOf names the line of the table of an exception, counted from 0; without such lines, which exception it is.
func placeOf(data []byte, n int) string {
	var at []int
	line := 0
	for text := range bytes.Lines(data) {
		line++
		if head, _, _ := bytes.Cut(text, []byte("#")); string(bytes.Join(bytes.Fields(head), nil)) == "[[accept]]" {
			at = append(at, line)
		}
	}
	if n < len(at) {
		return fmt.Sprintf("line %d", at[n])
	}
	return fmt.Sprintf("exception %d", n+1)
}
