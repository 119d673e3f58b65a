package report

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
)

// factsInline is the size in bytes up to which a page holds facts as they are.
// Beyond it, as on a host with hundreds of CPUs, each with a source for each
// fact, they go in gzip and base64 as facts_gzip, about a thirtieth of the size;
// the page's download puts them back.
const factsInline = 256 << 10

// embedded is the JSON document for a script element. json.Marshal writes <, >
// and & as escapes, so that no text can end the element.
func embedded(a *Assessment) ([]byte, error) {
	facts, err := json.Marshal(a.Facts)
	if err != nil {
		return nil, err
	}
	c := *a
	c.Facts = nil
	if len(facts) <= factsInline {
		c.Facts = a.Facts
		return json.Marshal(&c)
	}
	packed, err := packFacts(facts)
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		*Assessment
		Packed string `json:"facts_gzip"`
	}{&c, packed})
}

func packFacts(facts []byte) (string, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := z.Write(facts); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(b.Bytes()), nil
}
