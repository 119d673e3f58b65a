package explain

import (
	"strings"
	"testing"
)

func TestReadRefused(t *testing.T) {
	const good = `{"schema": 3, "vendor": "PostgreSQL", "elapsed": 40, "busy": 30, "parts": []}`
	if r, err := Read([]byte(good)); err != nil || r.Busy != 30 {
		t.Fatalf("%+v, %v", r, err)
	}
	for want, change := range map[string][2]string{
		"of schema 2; this hostlab knows 3": {`"schema": 3`, `"schema": 2`}, "of schema 4": {`"schema": 3`, `"schema": 4`}, "no schema": {`"schema": 3`, `"schema": 0`},
		"contradict": {`"busy": 30`, `"busy": 41`}, "not JSON": {`"parts"`, `parts`}, "not a recording": {`"parts": []`, `"parts": 1`},
	} {
		if r, err := Read([]byte(strings.Replace(good, change[0], change[1], 1))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", change[1], r, err)
		}
	}
}
