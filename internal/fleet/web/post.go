package web

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"hostlab/internal/fleet"
	"hostlab/internal/screen"
	"hostlab/internal/trust"
)

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
