package predict

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"hostlab/internal/lazyre"
	"hostlab/internal/screen"
)

// FileError is a mistake in a file: one line that says where and what.
type FileError struct {
	File         string
	Line, Column int // 0 where it has no one place
	Text         string
}

func (e *FileError) Error() string {
	switch {
	case e.Line == 0:
		return e.File + ": " + e.Text
	case e.Column == 0:
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Text)
}

// decode reads TOML into a struct, strictly: an unknown key is an error that names
// the nearest one. present has the keys of the document, as table.key.
func decode(file string, data []byte, into any) (present map[string]bool, err error) {
	var all map[string]any
	if err := toml.Unmarshal(data, &all); err != nil {
		return nil, placed(file, err, "not TOML: ")
	}
	d := toml.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return nil, fileError(file, err, into)
	}
	present = map[string]bool{}
	flatten("", all, present)
	return present, nil
}

func flatten(prefix string, table map[string]any, into map[string]bool) {
	for k, v := range table {
		into[prefix+k] = true
		if t, ok := v.(map[string]any); ok {
			flatten(prefix+k+".", t, into)
		}
	}
}

// mismatch is how go-toml 2.4 says that a value has the wrong type.
var mismatch = lazyre.New(`cannot decode TOML (\w+) into (?:a Go value|struct field \S+) of type (\S+)`)

// fileError turns an error of go-toml into a line with a place.
func fileError(file string, err error, into any) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		e := &strict.Errors[0]
		line, column := e.Position()
		path := e.Key()
		key := path[len(path)-1]
		text := fmt.Sprintf("unknown key %q", key)
		if near := screen.Meant(key, keysOf(reflect.TypeOf(into), path[:len(path)-1])); near != "" {
			text += "; did you mean " + near + "?"
		}
		if n := len(strict.Errors) - 1; n > 0 {
			text += fmt.Sprintf(" (and %d more)", n)
		}
		return &FileError{file, line, column, text}
	}
	e := placed(file, err, "")
	if at, ok := errors.AsType[*toml.DecodeError](err); ok {
		key := strings.Join(at.Key(), ".")
		if m := mismatch.FindStringSubmatch(e.Text); m != nil {
			e.Text = fmt.Sprintf("%s takes %s, not %s", key, inWords(m[2]), inWords(m[1]))
		} else {
			e.Text = key + ": " + e.Text
		}
	}
	return e
}

// placed gives an error of go-toml its place, where it has one.
func placed(file string, err error, lead string) *FileError {
	e := &FileError{File: file, Text: lead + strings.TrimPrefix(err.Error(), "toml: ")}
	if at, ok := errors.AsType[*toml.DecodeError](err); ok {
		e.Line, e.Column = at.Position()
	}
	return e
}

func inWords(t string) string {
	t = strings.ToLower(t)
	switch {
	case strings.HasPrefix(t, "[]"), t == "array":
		return "a list"
	case strings.Contains(t, "int"):
		return "a whole number"
	case strings.Contains(t, "float"):
		return "a number"
	case strings.Contains(t, "bool"):
		return "true or false"
	case strings.Contains(t, "table"), strings.Contains(t, "map"), strings.Contains(t, "power"):
		return "a table"
	}
	return "a text in quotes"
}

// keysOf lists the keys of the table at path, from the toml tags of its struct.
func keysOf(t reflect.Type, path []string) (keys []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for f := range t.Fields() {
		name := f.Tag.Get("toml")
		if len(path) > 0 && name == path[0] {
			return keysOf(f.Type, path[1:])
		}
		switch {
		case f.Anonymous:
			keys = append(keys, keysOf(f.Type, path)...)
		case name != "" && len(path) == 0:
			keys = append(keys, name)
		}
	}
	return keys
}

// leadingKey finds the last part of the key that an error begins with: sockets,
// power.core_watts, idle_states[0].exit_latency.
var leadingKey = lazyre.New(`^(?:[a-z_]+(?:\[\d+\])?\.)*([a-z_]+)`)

// locate gives an error of the model, which begins with a key, the place of that key.
func locate(file string, data []byte, err error) error {
	text := err.Error()
	e := &FileError{File: file, Text: text}
	m := leadingKey.FindStringSubmatch(text)
	if m == nil {
		return e
	}
	key := m[1]
	at := regexp.MustCompile(`(?m)^[ \t]*`+regexp.QuoteMeta(key)+`[ \t]*=`).FindAllIndex(data, -1)
	if len(at) == 1 { // several tables may have the key: no place is better than a wrong one
		e.Line = 1 + strings.Count(string(data[:at[0][0]]), "\n")
	}
	return e
}
