package setting

import "strings"

// Value is what a file of sysfs or sysctl says: one line, fields separated by one
// space, without the newline at its end. Of a list of choices it is the one in
// brackets: "always [madvise] never", "none [mq-deadline]".
func Value(text []byte) string {
	fields := strings.FieldsFunc(string(text), func(r rune) bool { return r <= ' ' })
	chosen := ""
	for _, f := range fields {
		if c, ok := strings.CutPrefix(f, "["); ok {
			if c, ok = strings.CutSuffix(c, "]"); ok && c != "" {
				if chosen != "" {
					return strings.Join(fields, " ")
				}
				chosen = c
			}
		}
	}
	if chosen != "" {
		return chosen
	}
	return strings.Join(fields, " ")
}

// Choices are all values of a list that has one of them in brackets, or of a plain list.
func Choices(text []byte) []string {
	fields := strings.Fields(string(text))
	for i, f := range fields {
		fields[i] = strings.TrimSuffix(strings.TrimPrefix(f, "["), "]")
	}
	return fields
}

// read returns an object's value.
func (s Setting) read(sys *System, o Object) (string, error) {
	b, err := sys.FS.ReadFile(o.Path)
	if err != nil {
		return "", err
	}
	if k, ok := s.Takes.(coder); ok {
		return k.decode(b), nil
	}
	return Value(b), nil
}

// write writes a value as it is written to the object.
func (s Setting) write(sys *System, o Object, value string) error {
	return sys.FS.WriteFile(o.Path, s.bytes(value))
}

func (s Setting) bytes(value string) []byte {
	if k, ok := s.Takes.(coder); ok {
		return k.encode(value)
	}
	return []byte(value)
}
