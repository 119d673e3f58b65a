package result

import (
	"bytes"
	"fmt"
	"math"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// form is how documents are written: as encoding/json does, but that a number which JSON does not
// have is null, and that a list or a table without entries is [] or {}.
var form = json.JoinOptions(jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false),
	json.FormatNilSliceAsNull(false), json.FormatNilMapAsNull(false),
	json.WithMarshalers(json.MarshalToFunc(func(enc *jsontext.Encoder, v float64) error {
		if Finite(v) == nil {
			return enc.WriteToken(jsontext.Null)
		}
		return json.SkipFunc
	})))

// JSON writes a document for other programs, in one line unless options say otherwise: the one place
// that does so. Unknown numbers are null, and lists are never null.
func JSON(v any, options ...json.Options) ([]byte, error) {
	text, err := json.Marshal(v, append([]json.Options{form}, options...)...)
	return escaped(text), err
}

// RecordJSON writes what hostlab reads again, where an unknown number is an error and not 0 afterwards.
func RecordJSON(v any, options ...json.Options) ([]byte, error) {
	text, err := json.Marshal(v, append([]json.Options{jsonv1.DefaultOptionsV1()}, options...)...)
	return escaped(text), err
}

// Indented lays JSON out for people.
var Indented = jsontext.WithIndent("  ")

// escaped escapes what JSON text may hold raw and a terminal obeys: C1 and DEL, which are controls, and
// those that change the direction of text (Unicode's Bidi_Control). All stand in strings, whose value stays.
func escaped(text []byte) []byte {
	if !bytes.ContainsFunc(text, obeyed) {
		return text
	}
	var out []byte
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if obeyed(r) {
			out = fmt.Appendf(out, "\\u%04x", r)
		} else {
			out = append(out, text[:n]...)
		}
		text = text[n:]
	}
	return out
}

func obeyed(r rune) bool {
	return r >= 0x7f && r <= 0x9f || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
}

// Finite is x for a JSON document, which has neither NaN nor infinities: nil, that
// is null, where x is one of them.
func Finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
