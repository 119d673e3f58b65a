package picture

import (
	"bytes"
	"testing"
)

// No address runs a script or leaves its attribute, whoever wrote it.
func TestAddress(t *testing.T) {
	for text, want := range map[string]string{
		"javascript:alert(1)": "#", " javascript:x": "#", "JAVASCRIPT:x": "#", "data:text/html,x": "#", "\x01javascript:x": "#",
		"/p?a=b&c=%20 d\"e'(f)": "/p?a=b&amp;c=%20%20d%22e%27%28f%29", "HTTPS://h/x": "HTTPS://h/x", "mailto:a@b": "mailto:a@b",
		"/x:y": "/x:y", "?a=b:c": "?a=b:c", "é": "%c3%a9", "<": "%3c", "": "", Anchor("a b&c"): "#a&#43;b%26c",
	} {
		m := &Markup{}
		m.Address(text)
		if got := m.b.String(); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Text stays text, in an element and in an attribute in quotes.
func TestMarkup(t *testing.T) {
	m := &Markup{}
	m.In(`<p title="`, `"><script>'+&`, `">`)
	m.Maybe("<b>", "", "</b>")
	m.If(false, "<i>")
	m.Text("<\x00\x1b>")
	m.Own("<br>")
	var b bytes.Buffer
	if _, err := m.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	if want := `<p title="&#34;&gt;&lt;script&gt;&#39;&#43;&amp;">&lt;??&gt;<br>`; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
