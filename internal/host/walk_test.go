package host_test

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"hostlab/internal/host"
)

// walkFacts calls visit for every fact, in the order of the struct. The path is made
// of the JSON names, with an object's own id, cpu, index or name in brackets,
// as in "frequency.policies[3].governor"; objects that have none, or share it
// with another, are numbered from 0.
func walkFacts(f *host.Facts, visit func(path string, fact host.AnyFact)) {
	walk(reflect.ValueOf(f).Elem(), "", visit)
}

func walk(v reflect.Value, path string, visit func(string, host.AnyFact)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			walk(v.Elem(), path, visit)
		}
	case reflect.Slice:
		for i, key := range keys(v) {
			walk(v.Index(i), path+"["+key+"]", visit)
		}
	case reflect.Struct:
		if fact, ok := v.Interface().(host.AnyFact); ok {
			visit(path, fact)
			return
		}
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if name == "" || name == "-" {
				continue
			}
			if path != "" {
				name = path + "." + name
			}
			walk(v.Field(i), name, visit)
		}
	}
}

// keyFields are what objects are known by. An idle state's index and a cache's
// level are not among them: several may share it.
var keyFields = []string{"ID", "CPU", "Name", "PID"}

// keys names the elements of a slice.
func keys(v reflect.Value) []string {
	names := make([]string, v.Len())
	seen := map[string]bool{}
	for i := range names {
		names[i] = key(v.Index(i))
		if names[i] == "" || seen[names[i]] {
			for j := range names {
				names[j] = strconv.Itoa(j)
			}
			return names
		}
		seen[names[i]] = true
	}
	return names
}

func key(v reflect.Value) string {
	if v.Kind() != reflect.Struct {
		return ""
	}
	for _, name := range keyFields {
		f := v.FieldByName(name)
		if !f.IsValid() {
			continue
		}
		if k := f.Kind(); k == reflect.Int || k == reflect.String {
			return fmt.Sprint(f.Interface())
		}
	}
	return ""
}
