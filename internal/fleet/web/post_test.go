package web

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"hostlab/internal/fleet"
	"hostlab/internal/testkit"
)

// tokens makes tokens of a file, with what each may do.
func tokens(t *testing.T, may ...string) (list Tokens, sent []string) {
	t.Helper()
	file := ""
	for i, m := range may {
		token, hash := NewToken()
		file += fmt.Sprintf("[[token]]\nname = \"t%d\"\nsha256 = %q\n%s\n", i, hash, m)
		sent = append(sent, token)
	}
	list = testkit.Must(ReadTokens([]byte(file)))(t)
	return list, sent
}

// post sends a body and returns the status and the line of the answer.
func post(t *testing.T, url, token string, body io.Reader, headers ...string) (int, string) {
	t.Helper()
	r := testkit.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, url, body))(t)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	testkit.OK(t, err)
	defer resp.Body.Close()
	text := testkit.Must(io.ReadAll(resp.Body))(t)
	if strings.Count(string(text), "\n") != 1 || strings.ContainsAny(string(text), "\x1b\u202e") {
		t.Errorf("the answer is %q, not one plain line", text)
	}
	return resp.StatusCode, string(text)
}

func zipped(t *testing.T, body []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	testkit.Must(z.Write(body))(t)
	testkit.OK(t, z.Close())
	return out.Bytes()
}

func TestPost(t *testing.T) {
	list, sent := tokens(t, `hosts = ["new1", "web*"]`, "read = true", `hosts = ["*"]`)
	server := serving(t, Config{Tokens: func() Tokens { return list }})
	url := server.URL + "/v1/documents"
	good := assessment("new1", "text", now)
	send := func(what string, want int, says, token string, body []byte, headers ...string) {
		t.Helper()
		if got, text := post(t, url, token, bytes.NewReader(body), headers...); got != want || !strings.Contains(text, says) {
			t.Errorf("%s: %d %s", what, got, text)
		}
	}
	if before, _ := get(t, server.URL+"/hosts/new1"); before.StatusCode != http.StatusNotFound {
		t.Fatalf("before: %d", before.StatusCode)
	}
	send("new", 201, "new ", sent[0], good)
	send("again", 200, "known ", sent[0], good)
	send("packed", 200, "known ", sent[0], zipped(t, good), "Content-Encoding", "gzip")
	send("packed, without saying so", 200, "known ", sent[0], zipped(t, good))
	if after, body := get(t, server.URL+"/hosts/new1"); after.StatusCode != http.StatusOK ||
		!strings.Contains(body, "new1 sent its last document 0 s ago") {
		t.Errorf("after: %d", after.StatusCode)
	}
	send("no token", 401, "send a token", "", good)
	send("wrong token", 401, "send a token", strings.Repeat("0", 64), good)
	send("a reader's token", 403, "may not send", sent[1], good)
	send("another host's", 403, "may not send documents of db9", sent[0], assessment("db9", "text", now))
	send("a host beside a pattern", 403, "may not send", sent[0], assessment("xweb1", "text", now))
	send("a host of a pattern", 201, "new ", sent[0], assessment("web1", "text", now))
	send("future", 422, "from the future", sent[0], assessment("new1", "text", now.Add(time.Hour)))
	send("newer schema", 422, "use the version that wrote it", sent[0],
		bytes.Replace(good, []byte(`"schema":4`), []byte(`"schema":99`), 1))
	send("another's", 422, "names no kind", sent[0], []byte(`{"a": 1}`))
	send("no JSON", 422, "this is text; send JSON", sent[0], []byte(evil))
	send("hostile name", 422, "is not a host name", sent[2], assessment("<b>"+evil, "text", now))
	send("a plan", 403, "belongs to no host", sent[2], changeBody)
	send("a bomb", 413, "larger than 16 MiB", sent[0], zipped(t, make([]byte, 100<<20)), "Content-Encoding", "gzip")
	send("a bomb without saying so", 413, "larger than 16 MiB", sent[0], zipped(t, make([]byte, 100<<20)))
	send("no gzip", 400, "not gzip", sent[0], good, "Content-Encoding", "gzip")
	send("a byte of gzip", 422, "not JSON", sent[0], []byte("\x1f"))
	send("empty", 422, "it is empty", sent[0], nil)
	send("gzip that claims to be plain", 422, "not JSON", sent[0], zipped(t, good), "Content-Encoding", "identity")
	send("torn gzip", 400, "arrived incomplete", sent[0], zipped(t, good)[:40], "Content-Encoding", "gzip")
	send("another packing", 415, "only gzip", sent[0], good, "Content-Encoding", "br")
	// 100 MB of which no length is said.
	if got, text := post(t, url, sent[0], io.LimitReader(zeros{}, 100<<20)); got != 413 ||
		!strings.Contains(text, "16 MiB") {
		t.Errorf("100 MB: %d %s", got, text)
	}
	if got, _ := post(t, url+"?host=db9", sent[0], bytes.NewReader(good)); got != 403 {
		t.Errorf("for another host by query: %d", got)
	}
	if got, text := post(t, url+"?host=web2", sent[0], bytes.NewReader(assessment("it's own", "text", now))); got != 201 {
		t.Errorf("by the inventory's name: %d %s", got, text)
	}
	off := serving(t, Config{})
	if got, text := post(t, off.URL+"/v1/documents", sent[0], bytes.NewReader(good)); got != 403 ||
		!strings.Contains(text, "without --tokens") {
		t.Errorf("without tokens: %d %s", got, text)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Private pages are shown for a token that may read, as a browser or a program sends it.
func TestPrivate(t *testing.T) {
	list, sent := tokens(t, `hosts = ["*"]`, "read = true")
	server := serving(t, Config{Tokens: func() Tokens { return list }, Private: true})
	for path := range screens {
		resp, _ := get(t, server.URL+path)
		if resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s without a token: %d", path, resp.StatusCode)
		}
	}
	for _, path := range []string{"/", "/metrics", "/hosts?format=json"} {
		for i, want := range []int{401, 200} {
			if resp, _ := get(t, server.URL+path, "Authorization", "Bearer "+sent[i]); resp.StatusCode != want {
				t.Errorf("%s with token %d: %d", path, i, resp.StatusCode)
			}
		}
		r := testkit.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil))(t)
		r.SetBasicAuth("anybody", sent[1])
		resp, err := http.DefaultClient.Do(r)
		testkit.OK(t, err)
		resp.Body.Close()
		testkit.Is(t, http.StatusOK, resp.StatusCode, path, "with a password")
	}
}

func TestTokenFile(t *testing.T) {
	_, hash := NewToken()
	entry := "[[token]]\nname = \"a\"\nsha256 = \"" + hash + "\"\n"
	for text, says := range map[string]string{
		"":                         "has no [[token]]",
		"x":                        "line 1",
		entry + `hosts = ["db 7"]`: "nor a pattern",
		entry:                      "may do nothing",
		entry + "red = true":       "unknown key: token.red",
		entry + `hosts = ["a["]`:   "nor a pattern",
		entry + "read = true\n" + entry + "read = true":         "two tokens",
		"[[token]]\nsha256 = \"00\"":                            "has no name",
		"[[token]]\nname = \"a\"\nsha256 = \"00\"\nread = true": "64 hexadecimal digits",
	} {
		if _, err := ReadTokens([]byte(text)); err == nil || !strings.Contains(err.Error(), says) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Metrics are of known hosts, with labels that no document can make up.
func TestMetrics(t *testing.T) {
	server := serving(t, Config{})
	resp, body := get(t, server.URL+"/metrics")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") {
		t.Fatalf("%v, %s", err, resp.Header.Get("Content-Type"))
	}
	values := map[string]float64{}
	for name, f := range families {
		for _, m := range f.Metric {
			key := name
			for _, l := range m.Label {
				key += " " + l.GetValue()
			}
			values[key] = m.Gauge.GetValue()
		}
	}
	for key, want := range map[string]float64{"hostlab_host_known silent": 0, "hostlab_host_known evil": 1,
		"hostlab_fleet_hosts known": 20, "hostlab_fleet_hosts unknown": 2,
		"hostlab_host_findings evil high": 2, "hostlab_host_findings evil low": 0,
		"hostlab_host_lever_saves_seconds_per_day evil other": 0.1 * 2 * 86400,
		"hostlab_host_last_document_timestamp_seconds silent": float64(now.AddDate(0, 0, -9).Unix()),
		"hostlab_fleet_hosts_left_out":                        0} {
		if got, there := values[key]; !there || got != want {
			t.Errorf("%s: %g, want %g", key, got, want)
		}
	}
	for _, f := range []string{"hostlab_host_findings silent high", "hostlab_host_drift silent"} {
		if _, there := values[f]; there {
			t.Errorf("%s: nothing is known of it", f)
		}
	}
	if values["hostlab_host_drift evil"] < 1 {
		t.Error("no drift of a host that changed")
	}
	if strings.Contains(body, "alert(1)") {
		t.Error("text of a document is a label")
	}
	testkit.Refused(fleet.Read(assessment("a\nb", "x", now), "", now))(t, "", "a host's name may break a label")
}
