//go:build system

package pages

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
)

// checks are what every page is held to, whatever it shows.
var checks = []struct{ what, expression string }{
	{"sideways scrolling", Overflowing}, {"low contrast", LowContrast}, {"texts of a picture that overlap", Overlaps},
	{"text of pictures below 11 pixels", smallText},
	{"cards that are cut off",
		`innerWidth > 900 ? [] : [...document.querySelectorAll(".scroll:has(> .cards)")].filter((s) => s.scrollWidth > s.clientWidth + 1).map((s) => s.getAttribute("aria-label") + ": " + s.scrollWidth + " in " + s.clientWidth)`},
	{"ids that are not unique",
		`[...document.querySelectorAll("[id]")].map((e) => e.id).filter((id, i, all) => all.indexOf(id) !== i)`},
	{"tables without a caption or a scope",
		`[...document.querySelectorAll("table")].filter((t) => !t.caption || [...t.querySelectorAll("th")].some((h) => !h.scope)).map((t) => t.className)`},
	{"pictures of no size",
		`[...document.querySelectorAll("svg.pic")].filter((s) => s.getBoundingClientRect().width < 250 || s.getBoundingClientRect().height < 40).map((s) => s.textContent.slice(0, 20))`},
	{"axes without a name",
		`[...document.querySelectorAll("svg.pic")].filter((s) => s.querySelector("text.tick") && !s.querySelector("text.axis")).map((s) => s.textContent.slice(0, 20))`},
	{"pictures that keys cannot scroll",
		`[...document.querySelectorAll("svg.pic")].filter((s) => s.getBoundingClientRect().width > s.parentElement.clientWidth + 1 && !s.closest("[tabindex]")).map((s) => s.textContent.slice(0, 20))`},
	{"labels without their thing",
		`[...document.querySelectorAll("[aria-labelledby]")].filter((e) => e.getAttribute("aria-labelledby").split(" ").some((id) => !document.getElementById(id))).map((e) => e.outerHTML.slice(0, 60))`},
	{"links to nothing on the page",
		`[...document.querySelectorAll('a[href^="#"]')].filter((a) => !document.getElementById(decodeURIComponent(a.hash.slice(1)))).map((a) => a.outerHTML.slice(0, 80))`},
	{"words of commands that are broken", brokenWords},
	{"code without a button",
		`[...document.querySelectorAll(".command, .typed")].filter((e) => !e.querySelector("button.copy:not([hidden])")).map((e) => e.textContent.slice(0, 40))`},
}

const brokenWords = `(() => {
  const bad = [];
  for (const code of document.querySelectorAll("code")) {
    const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text; text = texts.nextNode())
      for (const word of text.data.matchAll(/(?<!\S)(?=\S*-)\S{1,16}(?!\S)/g)) {
        const range = document.createRange();
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        if (new Set([...range.getClientRects()].map((r) => Math.round(r.top))).size > 1) bad.push(word[0] + " of " + code.textContent);
      }
  }
  return bad.slice(0, 8);
})()`

const smallText = `[...document.querySelectorAll("svg.pic text")].filter((e) => {
  const svg = e.ownerSVGElement;
  return parseFloat(getComputedStyle(e).fontSize) * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width < 10.99;
}).map((e) => e.textContent).slice(0, 8)`

// Inspect holds a page to all checks and to axe-core's rules, as a light one on a desk and as a dark one on a phone,
// and keeps screenshots of that name. Where these are asked for, it looks at the other two, too. On the phone,
// axe-core's rules are those that its size can break; of dark colours LowContrast knows.
func Inspect(t *testing.T, b *Tab, name string) {
	t.Helper()
	for _, look := range []struct {
		theme string
		width int64
		asked bool
	}{{"light", 1200, false}, {"dark", 360, false}, {"dark", 1200, true}, {"light", 360, true}} {
		if look.asked && os.Getenv("HOSTLAB_SHOTS") == "" {
			continue
		}
		where := fmt.Sprintf("%s-%s-%d", name, look.theme, look.width)
		Send(t, b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: look.theme}}})
		Resize(t, b, look.width)
		for _, c := range checks {
			if bad := Eval[[]string](t, b, c.expression); len(bad) > 0 {
				t.Errorf("%s: %s:\n%s", where, c.what, strings.Join(bad, "\n"))
			}
		}
		if look.width > 900 {
			Accessible(t, b)
		} else {
			Accessible(t, b, "scrollable-region-focusable", "target-size", "meta-viewport")
		}
		mean, colours := Brightness(t, Look(t, b, where))
		if (look.theme == "dark") != (mean < 0.4) {
			t.Errorf("%s: mean brightness %.2f", where, mean)
		}
		if colours < 15 {
			t.Errorf("%s: only %d colours: nothing drawn?", where, colours)
		}
	}
}
