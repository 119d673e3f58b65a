package web

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Tokens say who may send documents of which hosts, and who may read.
type Tokens []Token

// Token is one of them. The token itself is not kept, only its hash.
type Token struct {
	Name   string   `toml:"name"`   // for messages, and for the source of its documents
	SHA256 string   `toml:"sha256"` // of the token, in hex
	Hosts  []string `toml:"hosts"`  // whose documents it may send: names, or patterns as db*; none: of no host
	Read   bool     `toml:"read"`   // it may see pages and metrics
	hash   []byte
}

// NewToken makes a token of 32 random bytes, and its hash for the file.
func NewToken() (token, hash string) {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	token = hex.EncodeToString(b)
	sum := sha256.Sum256([]byte(token))
	return token, hex.EncodeToString(sum[:])
}

// ReadTokens reads a file of tokens. Errors are one line.
func ReadTokens(text []byte) (Tokens, error) {
	var file struct {
		Token Tokens `toml:"token"`
	}
	d := toml.NewDecoder(strings.NewReader(string(text))).DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		if unknown, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(unknown.Errors) > 0 {
			return nil, fmt.Errorf("it has an unknown key: %s; a token has name, sha256, hosts and read",
				strings.Join(unknown.Errors[0].Key(), "."))
		}
		if bad, ok := errors.AsType[*toml.DecodeError](err); ok {
			row, _ := bad.Position()
			return nil, fmt.Errorf("line %d: %s", row, strings.TrimPrefix(bad.Error(), "toml: "))
		}
		return nil, errors.New("it is not TOML")
	}
	seen := map[string]bool{}
	for i := range file.Token {
		t := &file.Token[i]
		hash, err := hex.DecodeString(t.SHA256)
		switch {
		case t.Name == "":
			return nil, fmt.Errorf("token %d has no name", i+1)
		case seen[t.Name]:
			return nil, fmt.Errorf("two tokens are called %q", t.Name)
		case err != nil || len(hash) != sha256.Size:
			return nil, fmt.Errorf("token %q: sha256 takes 64 hexadecimal digits; 'hostlab fleet token' makes a token and "+
				"its hash", t.Name)
		case len(t.Hosts) == 0 && !t.Read:
			return nil, fmt.Errorf("token %q may do nothing: give it hosts, or read = true", t.Name)
		}
		for _, pattern := range t.Hosts {
			if _, err := path.Match(pattern, ""); err != nil {
				return nil, fmt.Errorf("token %q: %q is neither a name nor a pattern of names", t.Name, pattern)
			}
		}
		t.hash, seen[t.Name] = hash, true
	}
	if len(file.Token) == 0 {
		return nil, errors.New("it has no [[token]]")
	}
	return file.Token, nil
}

// named is the token that a caller sends; nil: none of ours. It takes the same time for each wrong one.
func (list Tokens) named(sent string) (found *Token) {
	sum := sha256.Sum256([]byte(sent))
	for i := range list {
		if subtle.ConstantTimeCompare(sum[:], list[i].hash) == 1 {
			found = &list[i]
		}
	}
	return found
}

// bearer is the token of a request's header; nil: none of ours. A browser never sends it by itself.
func (list Tokens) bearer(r *http.Request) *Token {
	if scheme, sent, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return list.named(strings.TrimSpace(sent))
	}
	return nil
}

// reads reports a request with a token that may read, which browsers send as a password.
func (list Tokens) reads(r *http.Request) bool {
	t := list.bearer(r)
	if _, password, ok := r.BasicAuth(); ok && t == nil {
		t = list.named(password)
	}
	return t != nil && t.Read
}

// sends reports a token that may send documents of a host.
func (t *Token) sends(host string) bool {
	for _, pattern := range t.Hosts {
		if ok, err := path.Match(pattern, host); ok && err == nil {
			return true
		}
	}
	return false
}
