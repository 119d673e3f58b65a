package explain

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"hostlab/internal/lazyre"
)

// Kinds of a statement's number.
const (
	QueryID     = "query_id"    // PostgreSQL's
	Digest      = "digest"      // MySQL's
	Fingerprint = "fingerprint" // ours
)

// LongestText is how much of a statement is read, B. Servers keep about as much (track_activity_query_size).
const LongestText = 1000

var (
	// One pass: comments and spaces, then strings, which end where the text was cut, then numbers and parameters.
	literals = lazyre.New(`(?s)(--[^\n]*|/\*.*?(?:\*/|$)|\s+)|('(?:[^'\\]|''|\\.)*(?:'|\\?$)|\$\$.*?(?:\$\$|$)|\$\d+|\b0x[0-9a-f]+\b|\b\d+(?:\.\d*)?(?:e[-+]?\d+)?\b)`)
	// Values of one row or of many, and of a list of any length, are alike.
	listed = lazyre.New(`\?(?:\s*,\s*\?)+`)
	rows   = lazyre.New(`\(\s*\?\s*\)(?:\s*,\s*\(\s*\??\s*\)?)+`)
	quoted = lazyre.New(`(?s)"(?:[^"\\]|""|\\.)*(?:"|\\?$)`)
)

// FingerprintOf is a hash of a statement without its values, so that statements that differ in those alone have one.
// doubled is set where double quotes hold strings, as in MariaDB, and not names.
func FingerprintOf(text string, doubled bool) string {
	sum := sha256.Sum256([]byte(normal(text, doubled)))
	return hex.EncodeToString(sum[:8])
}

// normal is a statement without its values.
func normal(text string, doubled bool) string {
	text = strings.ToLower(text)
	if doubled {
		text = quoted.ReplaceAllString(text, "''")
	}
	text = literals.ReplaceAllStringFunc(text, func(s string) string {
		switch {
		case strings.TrimSpace(s) == "" || strings.HasPrefix(s, "--") || strings.HasPrefix(s, "/*"):
			return " "
		}
		return "?"
	})
	text = listed.ReplaceAllString(strings.Join(strings.Fields(text), " "), "?")
	return strings.TrimRight(rows.ReplaceAllString(text, "(?)"), "; ")
}
