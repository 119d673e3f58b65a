package predict

import (
	"bufio"
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"hostlab/internal/lazyre"
	"hostlab/internal/model"
	"hostlab/internal/model/burstlog"
	"hostlab/internal/screen"
	"hostlab/internal/trust"
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

// maxWorkload bounds a workload file; records are read line by line.
const maxWorkload = 1 << 20

// ReadWorkload reads a workload file, or a record of bursts. Of a record, closed
// asks for its replay at the load that it has, otherwise its bursts arrive at
// random at any load. The workload is valid.
func ReadWorkload(file string, in io.Reader, closed bool) (Workload, error) {
	text := bufio.NewReaderSize(in, 64<<10)
	head, _ := text.Peek(64 << 10) // an error comes again with reading
	if bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{")) {
		return readRecord(file, text, closed)
	}
	data, err := io.ReadAll(trust.Reader(text, maxWorkload))
	if err != nil {
		return Workload{}, &FileError{File: file, Text: err.Error()}
	}
	w := model.Workload{Kind: model.Dialog, Slices: 1, Placement: model.Spread}
	present, err := decode(file, data, &w)
	if err != nil {
		return Workload{}, err
	}
	w.Name = cmp.Or(w.Name, strings.TrimSuffix(filepath.Base(file), ".toml"))
	if !present["slice"] {
		return Workload{}, &FileError{File: file,
			Text: "slice is missing: the length of one stretch of CPU work, as in slice = \"60ms\""}
	}
	if err := w.Validate(); err != nil {
		return Workload{}, locate(file, data, err)
	}
	if err := fitting(w, present); err != nil {
		return Workload{}, locate(file, data, err)
	}
	out := Workload{Workload: w, Load: math.NaN()}
	for _, d := range []struct{ key, value, why string }{
		{"placement", string(w.Placement), "an idle scheduler takes the next idle CPU"},
		{"memory_share", "0", "all work scales with frequency"},
	} {
		if !present[d.key] {
			out.Assumptions = append(out.Assumptions, Assumption{"workload", d.key, d.value, "not in " + file + ": " + d.why})
		}
	}
	return out, nil
}

// fitting refuses keys that the kind of the workload has no use for: they would
// have no effect. A 0 says the same as leaving a key out.
func fitting(w model.Workload, present map[string]bool) error {
	of := map[model.Kind][]string{
		model.Dialog: {"slices", "wait", "think"}, model.Batch: {"wait", "work"}, model.Query: {"wait", "work"},
		model.Commit: {"think", "device", "flush_work"},
	}[w.Kind]
	for _, k := range []struct {
		key  string
		none bool
	}{
		{"slices", false}, {"wait", w.Wait.IsZero()}, {"think", w.Think.IsZero()}, {"work", w.Work == 0},
		{"device", w.Device.IsZero()}, {"flush_work", w.FlushWork.IsZero()},
	} {
		if present[k.key] && !k.none && !slices.Contains(of, k.key) {
			return fmt.Errorf("%s: a workload of kind %s has none; it takes %s besides slice and users", k.key, w.Kind,
				strings.Join(of, ", "))
		}
	}
	return nil
}

func readRecord(file string, in io.Reader, closed bool) (Workload, error) {
	r, err := burstlog.Read(in)
	if err != nil {
		return Workload{}, &FileError{File: file, Text: err.Error()}
	}
	w, err := FromRecord(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), r, closed)
	if err != nil {
		return Workload{}, &FileError{File: file, Text: err.Error()}
	}
	return w, nil
}

// FromRecord makes a workload of recorded bursts, as ReadWorkload does.
func FromRecord(name string, r *burstlog.Record, closed bool) (Workload, error) {
	w := Workload{Workload: r.Open(name), Load: r.Load(), Watched: len(r.CPUs), record: r}
	if closed {
		w.Workload, w.Active = r.Replay(name), r.Active
	}
	w.Assumptions = []Assumption{
		{"workload", "slice", fmt.Sprintf("%d bursts of %s on average", len(r.Busy), seconds(w.Slice.Mean)),
			"the record: taken as work at nominal frequency, whatever frequency the CPUs had when it was made"},
		{"workload", "memory_share", "0", "not in the record: all work scales with frequency"},
		{"workload", "sample", fmt.Sprintf("%.3g %% of %s", r.Seen*100, seconds(r.Length)),
			"the record: bursts that began in windows; each replication draws stretches of it anew, so that intervals hold how " +
				"sure it is"},
	}
	if r.Service != "" {
		w.Assumptions = append(w.Assumptions, Assumption{"workload", "service",
			fmt.Sprintf("%.3g %% of the bursts' time", 100*r.ServiceShare()),
			"the record: " + r.Service +
				" ran for that share; the rest are other tasks of the host, whose bursts a policy sees too"})
	}
	if closed {
		w.Assumptions = append(w.Assumptions, Assumption{"workload", "think", seconds(w.Think.Mean) + " on average",
			"the record: idle times do not depend on how long bursts take; each CPU has bursts and idle times of its own"})
	} else {
		w.Assumptions = append(w.Assumptions, Assumption{"workload", "arrivals", "Poisson",
			"the record's bursts, at random moments; its idle times are not used"})
	}
	return w, w.Validate()
}

// BuiltInWorkload is a workload of the model, whose source says what in it was
// assumed.
func BuiltInWorkload(w model.Workload) Workload {
	out := Workload{Workload: w, Load: math.NaN(), Assumptions: []Assumption{{Of: "workload", Name: w.Name,
		Value: "as built in", Source: w.Source}}}
	if w.Name == "olontsev" { // docs/validation.md has the comparison
		out.Warnings = []string{"published for this query of 32 workers: 25 to 26 s under Balanced, 18 to 19 s under High " +
			"performance. The model meets the former with --policy balanced,PERFDECPOL=single only, which is its reading of an " +
			"undocumented default"}
	}
	return out
}

// Close makes a dialog workload a closed one of so many users.
func (w Workload) Close(users int) (Workload, error) {
	if w.Kind != model.Dialog {
		return w, fmt.Errorf("users: workload %s is of kind %s; only dialog ones are closed so", w.Name, w.Kind)
	}
	if users < 1 {
		return w, fmt.Errorf("users is %d; it must be 1 to 1000000", users)
	}
	w.Users, w.Active, w.Each = users, 0, nil // so many were asked for, whatever a record had
	if err := w.Validate(); err != nil {
		return w, err
	}
	if w.Think.IsZero() && w.Wait.IsZero() {
		return w, errors.New(
			"users: this workload has neither wait nor think, so its users would keep every CPU busy; give it one " +
				"in a workload file")
	}
	if w.Think.IsZero() {
		w.Assumptions = append(w.Assumptions, Assumption{"workload", "think", "0 s", "users start their next step at once"})
	}
	return w, nil
}

// WorkloadTemplate is a workload file with all keys, as documentation.
//
//go:embed workload.toml
var WorkloadTemplate string
