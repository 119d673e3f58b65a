package testkit

import (
	"regexp"
	"strings"
	"testing"
)

var whole = regexp.MustCompile(`<span class="whole">(.*?)</span>`)

// Words is a page without the marks of words that are not to be broken, so that its texts can be looked for.
func Words(page string) string {
	return whole.ReplaceAllString(strings.ReplaceAll(page, "\u00a0", " "), "$1")
}

// DataElement finds the data of a page, as JSON.
var DataElement = regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`)

var refers = regexp.MustCompile(`<[a-z]+\s[^>]*\b(?:src|href|srcset|action|data|poster)="([^"]*)"[^>]*>`)

// SelfContained fails where a page loads a resource, lets text of others become a script or an element, shows NaN or Inf
// as a number, or has more bytes than most. The page's policy allows its own scripts and styles alone, by hash.
func SelfContained(t testing.TB, html string, most int) {
	t.Helper()
	page := DataElement.ReplaceAllString(html, "")
	for _, m := range refers.FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(m[1], "#") {
			t.Errorf("refers to %s", m[0])
		}
	}
	for _, bad := range []string{"@import", "url(", "ZgotmplZ", "NaN", "+Inf", "-Inf", " style=", "<script>alert",
		"<img src=x", "%!"} {
		if i := strings.Index(page, bad); i >= 0 {
			t.Errorf("%s in the page: %s", bad, page[max(0, i-80):min(len(page), i+20)])
		}
	}
	Has(t, page, "default-src &#39;none&#39;")
	Is(t, 2, strings.Count(html, "<script"), "script elements")
	if len(html) > most {
		t.Errorf("%d bytes", len(html))
	}
}
