package command

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hostlab/internal/lazyre"
	"hostlab/internal/screen"
)

// named are the characters that an expression has as themselves right before its group, and right after it: what it
// calls a separator is one.
type named struct{ before, after rune }

func namedAround(expr string) (n named) {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return n
	}
	var walk func(*syntax.Regexp)
	walk = func(re *syntax.Regexp) {
		i := slices.IndexFunc(re.Sub, func(s *syntax.Regexp) bool { return s.Op == syntax.OpCapture })
		if re.Op == syntax.OpConcat && i >= 0 {
			if i > 0 && re.Sub[i-1].Op == syntax.OpLiteral {
				n.before = re.Sub[i-1].Rune[len(re.Sub[i-1].Rune)-1]
			}
			if i+1 < len(re.Sub) && re.Sub[i+1].Op == syntax.OpLiteral {
				n.after = re.Sub[i+1].Rune[0]
			}
		}
		for _, s := range re.Sub {
			walk(s)
		}
	}
	walk(re)
	return n
}

// joints stand within numbers: decimal points and commas, what groups digits in some language, and the colon of
// minutes. A plain space is none: it stands between columns.
const joints = ".,'’_:" + spaces

// spaces are those that stand within numbers: no-break, thin, and both.
const spaces = "\u00a0\u2009\u202f"

// The rest of a number, before and behind what an expression has found: a digit, one beyond a joint, an exponent, the
// digits of a hexadecimal number, and a sign or a point that no word or range is in front of.
var (
	before = lazyre.New(`(?:\d[` + joints + `]?|\d[eE][+-]?|0[xX][\da-fA-F]*|` +
		`(?:^|[^\pL\d._)\]-])(?:[-\x{2212}]\.?|\.))$`)
	behind  = lazyre.New(`^(?:[` + joints + `]?\d|[eE][+-]?\d)`)
	hex     = lazyre.New(`^[xX][\da-fA-F]`)
	leftOf  = lazyre.New(`[\deExX+\x{2212}` + joints + `-]*$`)
	rightOf = lazyre.New(`^[\deExX+` + joints + `-]*`)
	asPlain = strings.NewReplacer("\u00a0", " ", "\u2009", " ", "\u202f", " ")
)

// whole refuses what is cut out of a number, as 567 is of 1,234,567. The number lies in text between from and to.
// A separator that the expression itself names ends a number.
func (n named) whole(text []byte, from, to int) error {
	const most = 80 // B of what is looked at on either side
	left, found := string(text[max(0, from-most):from]), string(text[from:to])
	right := string(text[to:min(len(text), to+most)])
	last, _ := utf8.DecodeLastRuneInString(left)
	first, _ := utf8.DecodeRuneInString(right)
	cut := before.MatchString(left) && (last != n.before || isDigit(last)) ||
		behind.MatchString(right) && (first != n.after || isDigit(first)) || found == "0" && hex.MatchString(right)
	if !cut {
		return nil
	}
	all := leftOf.FindString(left) + found + rightOf.FindString(right)
	return fmt.Errorf("found %q, which is a part of %q: take the whole number, and have it printed plainly, as with "+
		"LC_ALL=C; or name what separates them in the expression", screen.Clean(excerpt(text[from:to], 40)),
		screen.Clean(excerpt([]byte(asPlain.Replace(all)), 60)))
}

// spaced is a unit behind a space; of other words there, none is one.
var spaced = lazyre.New(`^[ \x{00a0}](ns|us|µs|μs|ms|s|sec|secs|seconds?|min|minutes?|[kKMGT]i?[Bb]?)(?:[^\pL\d]|$)`)

// unit is what follows a number and is not in the expression: another one would not be noticed.
func unit(text []byte) string {
	if m := spaced.FindStringSubmatch(string(text)); m != nil {
		return m[1]
	}
	n := 0
	for n < len(text) && n < 8 {
		r, size := utf8.DecodeRune(text[n:])
		if !unicode.IsLetter(r) && r != '%' {
			break
		}
		n += size
	}
	return string(text[:n])
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }
