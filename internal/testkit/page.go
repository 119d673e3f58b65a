package testkit

import "regexp"

var whole = regexp.MustCompile(`<span class="whole">(.*?)</span>`)

// Words is a page without the marks of words that are not to be broken, so that a command in it can be looked for.
func Words(page string) string { return whole.ReplaceAllString(page, "$1") }
