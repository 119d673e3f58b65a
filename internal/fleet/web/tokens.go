package web

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/pelletier/go-toml/v2"

	"hostlab/internal/fleet"
	"hostlab/internal/lazyre"
	"hostlab/internal/screen"
	"hostlab/internal/trust"
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
			if _, err := path.Match(pattern, ""); err != nil || !ofNames.MatchString(pattern) {
				return nil, fmt.Errorf("token %q: %q is neither a name of a host nor a pattern of names, such as db*",
					screen.Short(t.Name), screen.Short(pattern))
			}
		}
		t.hash, seen[t.Name] = hash, true
	}
	if len(file.Token) == 0 {
		return nil, errors.New("it has no [[token]]")
	}
	return file.Token, nil
}

// ofNames are the characters of hosts' names, and of patterns of them.
var ofNames = lazyre.New(`^[A-Za-z0-9._:*?\[\]^\\-]{1,254}$`)

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
	return slices.ContainsFunc(t.Hosts, func(pattern string) bool {
		ok, err := path.Match(pattern, host)
		return ok && err == nil
	})
}

// take keeps a document that a host sends. What is refused is answered in one line.
func (s *Server) take(w http.ResponseWriter, r *http.Request) {
	status, text := s.keep(w, r)
	switch status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="hostlab fleet"`)
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "5")
	}
	if status >= http.StatusBadRequest {
		w.Header().Set("Connection", "close") // the rest of what it sends is not read
	}
	line(w, status, screen.Clean(text))
}

func (s *Server) keep(w http.ResponseWriter, r *http.Request) (status int, text string) {
	if s.Tokens == nil { // serve has no file of them
		return http.StatusForbidden, "this server takes no documents: it was started without --tokens"
	}
	token, host := s.Tokens().bearer(r), r.URL.Query().Get("host")
	switch {
	case token == nil:
		return http.StatusUnauthorized, "send a token of this server: Authorization: Bearer TOKEN"
	case len(token.Hosts) == 0 || host != "" && !token.sends(host):
		return http.StatusForbidden, "the token " + strconv.Quote(token.Name) + " may not send documents of this host"
	case r.ContentLength > fleet.MaxBody:
		return http.StatusRequestEntityTooLarge, tooLarge
	}
	room := &room{of: &s.bodies, token: token.Name}
	defer room.free()
	body, status, text := unpacked(w, r, room)
	if status != 0 {
		return status, text
	}
	// A place is taken once the body is there, so that a slow one holds none; one that waits for its token's turn holds
	// none either.
	// reading may have taken all of the server's time
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(4 * patience))
	ctx, cancel := context.WithTimeout(r.Context(), 3*patience)
	defer cancel()
	leave, ok := s.turn(ctx, token.Name)
	if !ok {
		return http.StatusServiceUnavailable, crowded
	}
	defer leave()
	s.reads.Lock() // a document as a tree takes many times its size
	now := s.Now()
	d, err := fleet.Read(body, host, now)
	s.reads.Unlock()
	if err != nil {
		return http.StatusUnprocessableEntity, err.Error()
	}
	if d.Plan != nil {
		return http.StatusForbidden, "a roll-out plan belongs to no host; 'hostlab fleet rollout plan' or 'hostlab fleet " +
			"ingest' stores it"
	}
	if !token.sends(d.Host) {
		return http.StatusForbidden, "the token " + strconv.Quote(token.Name) + " may not send documents of " + d.Host
	}
	n, err := s.Store.Put(ctx, []*fleet.Document{d}, "POST by "+token.Name, now)
	if err != nil {
		slog.Error("fleet serve: a document was not kept", "host", d.Host, "error", err) //nolint:gosec // slog quotes
		return http.StatusServiceUnavailable, "the store does not answer; send it again"
	}
	if n == 0 {
		return http.StatusOK, "known " + d.Hash
	}
	return http.StatusCreated, "new " + d.Hash
}

const crowded = "too many documents come at once; send it again"

var tooLarge = "it is larger than " + strconv.Itoa(fleet.MaxBody>>20) + " MiB"

// unpacked reads a body. What is unpacked counts too. status is 0 where all went well.
func unpacked(w http.ResponseWriter, r *http.Request, room *room) (body []byte, status int, text string) {
	var in io.Reader = http.MaxBytesReader(w, r.Body, fleet.MaxBody)
	coding := strings.ToLower(r.Header.Get("Content-Encoding"))
	if coding == "" { // a packed file that is sent as it is: no document begins like that
		begun := bufio.NewReader(in)
		if head, _ := begun.Peek(2); string(head) == "\x1f\x8b" { // what fails here fails below again
			coding = "gzip"
		}
		in = begun
	}
	switch coding {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, http.StatusBadRequest, "it is not gzip"
		}
		in = z
	default:
		return nil, http.StatusUnsupportedMediaType, "only gzip may pack it"
	}
	room.Reader = trust.Reader(in, fleet.MaxBody)
	body, err := io.ReadAll(room)
	if errors.Is(err, errRoom) {
		return nil, http.StatusServiceUnavailable, crowded
	}
	if err != nil {
		_, unpacked := errors.AsType[*trust.TooLarge](err)
		if _, sent := errors.AsType[*http.MaxBytesError](err); sent || unpacked {
			return nil, http.StatusRequestEntityTooLarge, tooLarge
		}
		return nil, http.StatusBadRequest, "it arrived incomplete"
	}
	return body, 0, ""
}
