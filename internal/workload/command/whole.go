package command

import (
	"bytes"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/perf/benchunit"

	"hostlab/internal/lazyre"
	"hostlab/internal/screen"
	"hostlab/internal/workload"
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
// minutes.
const joints = ".,'’_:" + spaces

// spaces are those that stand within numbers: no-break, thin, both, and a plain one, which also stands between columns:
// see gap.
const spaces = "\u00a0\u2009\u202f "

var behindGap, beforeGap = lazyre.New(`^ \d{3}(?:\D|$)`), lazyre.New(`(?:^|\D)\d{1,3}$`)

// gap reports whether a plain space at i may group digits, as in 1 234: three stand behind it, and up to three in
// front.
func gap(text []byte, i int) bool {
	return behindGap.MatchString(string(text[i:])) && beforeGap.MatchString(string(text[:i]))
}

// inColumns reports that an expression has matched digits beyond a space beside its number: it counts columns.
func inColumns(matched []byte, from, to int) bool {
	left, right := bytes.TrimRight(matched[:from], " \t"), bytes.TrimLeft(matched[to:], " \t")
	return len(left) < from && endsInDigit(left) || len(right) < len(matched)-to && startsWithDigit(right)
}

// Forms of one number. A list of numbers, a version and an address have another.
var numbers = func() (list []*lazyre.Regexp) {
	const exponent = `([eE][+-]?\d+)?$`
	forms := []string{`\d*\.?\d*` + exponent, `\d+,\d+` + exponent, `\d{1,2}(,\d{2})+,\d{3}(\.\d+)?$`,
		`\d+(_\d+)+(\.\d+)?` + exponent,
		`\d+(:[0-5]\d)+([.,]\d+)?$`, `0[xX][0-9a-fA-F]+$`}
	for _, s := range ".,'’" + spaces {
		point := strings.ReplaceAll(".,", string(s), "") // another one than what groups digits
		forms = append(forms, `\d{1,3}(`+regexp.QuoteMeta(string(s))+`\d{3})+([`+point+`]\d+)?`+exponent)
	}
	for _, f := range forms {
		list = append(list, lazyre.New(`^[-\x{2212}]?`+f))
	}
	return list
}()

// whole refuses what is cut out of a number, as 567 is of 1,234,567. The number lies in text between from and to;
// columns: a plain space ends it.
func (n named) whole(text []byte, from, to int, columns bool) error {
	const most = 80 // of what is looked at on either side
	start := max(0, from-most)
	text, from, to = text[start:min(len(text), to+most)], from-start, to-start
	first, last := from, to
	for { // leftwards
		r, size := utf8.DecodeLastRune(text[:first])
		before := text[:first-size]
		switch {
		case r == ' ' && (columns || !gap(text, first-1)):
		case isDigit(r), strings.ContainsRune(joints, r) && endsInDigit(before):
			first -= size
			continue
		case (r == '+' || r == '-') && exponent.MatchString(string(before)):
			first -= size
			continue
		case exponent.MatchString(string(text[:first])):
			first -= size
			continue
		case (r == 'x' || r == 'X') && zero.MatchString(string(before)):
			first -= size
			continue
		case r == '.' && !endsInWord(before): // .5
			first -= size
		}
		break
	}
	for { // rightwards
		r, size := utf8.DecodeRune(text[last:])
		plain := r == ' ' && (columns || !gap(text, last))
		if !plain && (isDigit(r) || strings.ContainsRune(joints, r) && startsWithDigit(text[last+size:])) {
			last += size
			continue
		}
		if m := power.FindString(string(text[last:])); m != "" {
			last += len(m)
		} else if m := hex.FindString(string(text[last:])); m != "" && string(text[from:to]) == "0" {
			last += len(m)
		}
		break
	}
	if r, size := utf8.DecodeLastRune(text[:first]); (r == '-' || r == '−') && !endsInWord(text[:first-size]) &&
		isDigitOrPoint(text[first:]) {
		first -= size
	}
	if first == from && last == to {
		return nil
	}
	left, _ := utf8.DecodeLastRune(text[:from])
	right, _ := utf8.DecodeRune(text[to:])
	beside := first < from && isDigit(left) || last > to && isDigit(right) // a digit is no separator
	asked := (first == from || left == n.before) && (last == to || right == n.after)
	all := string(text[first:last])
	if !beside && (asked || !slices.ContainsFunc(numbers, func(re *lazyre.Regexp) bool { return re.MatchString(all) })) {
		return nil
	}
	plain := strings.Map(func(r rune) rune {
		if strings.ContainsRune(spaces, r) {
			return ' '
		}
		return r
	}, all)
	return fmt.Errorf(
		"found %q, which is a part of %q: take the whole number, and have it printed plainly, as with LC_ALL=C",
		screen.Clean(excerpt(text[from:to], 40)), screen.Clean(excerpt([]byte(plain), 60)))
}

var (
	exponent = lazyre.New(`\d[eE]$`)
	zero     = lazyre.New(`(^|\D)0$`)
	power    = lazyre.New(`^[eE][+-]?\d+`)
	hex      = lazyre.New(`^[xX][0-9a-fA-F]+`)
)

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

func startsWithDigit(b []byte) bool { return len(b) > 0 && isDigit(rune(b[0])) }

func endsInDigit(b []byte) bool { return len(b) > 0 && isDigit(rune(b[len(b)-1])) }

func isDigitOrPoint(b []byte) bool { return startsWithDigit(b) || len(b) > 0 && b[0] == '.' }

// endsInWord reports that a point or a dash behind it belongs to a word, a range or an ellipsis.
func endsInWord(b []byte) bool {
	r, _ := utf8.DecodeLastRune(b)
	return unicode.IsLetter(r) || isDigit(r) || strings.ContainsRune("._-)]", r)
}

// benchUnit reports a pick that would convert a benchmark's number a second time,
// or that calls it what it is not: package benchfmt gives ns/op in seconds and MB/s
// in bytes a second, so scale = 1e-9 beside it would make it a billionth of itself.
// Units that a benchmark has made up are its own affair.
func benchUnit(p workload.Pick, unit string) error {
	base, known := baseUnit(unit)
	if !known {
		return nil
	}
	name := base
	if base == "" {
		name = "a plain number"
	}
	switch {
	case p.Scale != 0 && p.Scale != 1:
		return fmt.Errorf(
			"%s is %s already: gobench converts by itself, so that scale = %s would convert it again; leave scale out",
			p.From, inUnit(name), strconv.FormatFloat(p.Scale, 'g', -1, 64))
	case p.Unit != workload.AnyUnit && p.Unit != base:
		return fmt.Errorf("%s is %s, and the response's unit is %q; write unit = %q", p.From, inUnit(name), p.Unit, base)
	}
	return nil
}

func inUnit(name string) string {
	if strings.HasPrefix(name, "a ") {
		return name
	}
	return "in " + name
}

// baseUnit is the unit of a response that a benchmark's number is in: of what
// testing prints (ns/op, B/op, allocs/op, MB/s) and of what is made of the same
// parts, such as p99-ns or req/s. known is false for any other.
func baseUnit(unit string) (base string, known bool) {
	_, tidy := benchunit.Tidy(1, unit)
	amount, per, rate := strings.Cut(tidy, "/")
	if i := strings.LastIndexByte(amount, '-'); i >= 0 && (!rate || per == "op") {
		amount = amount[i+1:]
	}
	switch {
	case per == "s" || per == "sec":
		switch amount {
		case "B":
			return "B/s", true
		case "sec":
			return "", false // a share of time
		}
		if _, scaled := prefixed[amount]; scaled {
			return "", false
		}
		return "1/s", true
	case rate && per != "op":
		return "", false
	case amount == "sec":
		return "s", true
	case amount == "B":
		return "B", true
	case amount == "allocs":
		return "", true
	}
	return "", false
}

// prefixed are amounts that benchfmt does not convert, so that a scale has to.
var prefixed = map[string]struct{}{
	"kB": {}, "KB": {}, "GB": {}, "KiB": {}, "MiB": {}, "GiB": {}, "k": {}, "M": {}, "G": {}, "kops": {}, "Mops": {},
	"kreq":  {},
	"Mreq":  {},
	"bytes": {}, "bits": {}, "Mb": {}, "Gb": {}, "us": {}, "ms": {}, "J": {}, "mJ": {},
}
