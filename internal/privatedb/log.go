package privatedb

import (
	"bytes"
	"cmp"
	"slices"
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

// Last returns the line that says most about an end: the last error, or else the last
// line.
func (t *Tail) Last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := ""
	for _, line := range slices.Backward(strings.Split(string(t.text), "\n")) {
		line = strings.TrimSpace(line)
		last = cmp.Or(last, line)
		for _, level := range []string{"PANIC:", "FATAL:", "[ERROR]", "error:", "ERROR:"} {
			if strings.Contains(line, level) && !strings.HasSuffix(line, "Aborting") { // MariaDB ends so after the error itself
				return line
			}
		}
	}
	return last
}

// Full reports whether the disk was full.
func (t *Tail) Full() bool {
	// MariaDB gives ENOSPC by its number
	return t.Contains("No space left on device") || t.Contains("Disk quota exceeded") || t.Contains("error 28") ||
		t.Contains("Errcode: 28")
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
