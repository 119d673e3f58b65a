package host

import (
	"fmt"
	"reflect"
	"strings"
)

// fill reads the facts of a struct that say where they are: the tag read holds a file, below
// dir where it is relative, and behind a space its form. Of a number that is the unit. Of a text
// it is "text" where the file may be empty, and "given" where an empty one holds none.
func fill(t Tree, dir string, into any) {
	v := reflect.ValueOf(into).Elem()
	for i := range v.NumField() {
		file, form, _ := strings.Cut(v.Type().Field(i).Tag.Get("read"), " ")
		if file == "" {
			continue
		}
		if file[0] != '/' {
			file = dir + "/" + file
		}
		switch f := v.Field(i).Addr().Interface().(type) {
		case *Fact[bool]:
			*f = t.Bool(file)
		case *Fact[Choice]:
			*f = t.Choice(file)
		case *Fact[[]int]:
			*f = t.List(file)
		case *Fact[uint64]:
			*f = readUint(t, file, form)
		case *Fact[int64]:
			*f = t.number(file, form)
		case *Fact[string]:
			switch form {
			case "text":
				*f = t.Text(file)
			case "given":
				*f = notEmpty(t.Text(file))
			default:
				*f = t.Word(file)
			}
		}
	}
}

// number reads a whole number in a unit into base units.
func (t Tree) number(file, unit string) Fact[int64] {
	switch unit {
	case "kHz":
		f := t.Int(file, "Hz", 1000)
		if f.State == StateOK && f.Value <= 0 { // a BIOS that reports 0 says nothing
			return Unknown[int64](file, fmt.Errorf("%d is no frequency", f.Value))
		}
		return f
	case "KiB":
		return t.Int(file, "B", 1024)
	case "sectors":
		return t.Int(file, "B", 512) // whatever the disk's own are
	}
	return t.Int(file, unit, 1)
}
