package postgres

import (
	"bytes"
	"strings"
	"sync"
)

// tail keeps the end of what programs wrote to stderr.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailBytes = 16 << 10

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if extra := len(t.text) - tailBytes; extra > 0 {
		t.text = append(t.text[:0], t.text[extra:]...)
	}
	return len(p), nil
}

// lines are those written so far that are not empty.
func (t *tail) lines() (out []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for line := range bytes.Lines(t.text) {
		if s := strings.TrimSpace(string(line)); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// last is the line that says most about an end: the last error, or else the last
// line.
func (t *tail) last() string {
	lines := t.lines()
	for i := len(lines) - 1; i >= 0; i-- {
		for _, level := range []string{"PANIC:", "FATAL:", "error:", "ERROR:"} {
			if strings.Contains(lines[i], level) {
				return lines[i]
			}
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return lines[len(lines)-1]
}

// full reports whether the disk was full.
func (t *tail) full() bool {
	return t.contains("No space left on device") || t.contains("Disk quota exceeded")
}

func (t *tail) contains(text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Contains(t.text, []byte(text))
}
