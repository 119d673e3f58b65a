package privatedb

import (
	"bytes"
	"strings"
	"sync"
)

// Tail keeps the end of what programs wrote to stderr.
type Tail struct {
	mu   sync.Mutex
	text []byte
}

const tailBytes = 16 << 10

func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if surplus := len(t.text) - tailBytes; surplus > 0 {
		t.text = append(t.text[:0], t.text[surplus:]...)
	}
	return len(p), nil
}

// Lines returns those written so far that are not empty.
func (t *Tail) Lines() (out []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for line := range bytes.Lines(t.text) {
		if s := strings.TrimSpace(string(line)); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// Last returns the line that says most about an end: the last error, or else the last
// line.
func (t *Tail) Last() string {
	lines := t.Lines()
	for i := len(lines) - 1; i >= 0; i-- {
		for _, level := range []string{"PANIC:", "FATAL:", "[ERROR]", "error:", "ERROR:"} {
			if strings.Contains(lines[i], level) && !strings.HasSuffix(lines[i], "Aborting") { // MariaDB ends so after the error itself
				return lines[i]
			}
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return lines[len(lines)-1]
}

// Full reports whether the disk was full.
func (t *Tail) Full() bool {
	return t.Contains("No space left on device") || t.Contains("Disk quota exceeded") || t.Contains("error 28") || t.Contains("Errcode: 28") // MariaDB gives ENOSPC by its number
}

// Contains reports whether text was written lately.
func (t *Tail) Contains(text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Contains(t.text, []byte(text))
}

// LastWords is the last line of the log, as the end of a sentence.
func (t *Tail) LastWords() string {
	if line := t.Last(); line != "" {
		return "; its last log line: " + line
	}
	return ""
}

// Reset forgets what was written.
func (t *Tail) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = nil
}
