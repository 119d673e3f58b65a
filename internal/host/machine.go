package host

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"os"
)

// MachineHash tells machines apart without giving their ids away: machine-id(5) asks for a keyed hash. The id is read
// past the tree, so that no recording holds it. "" where there is none, as in most containers.
func MachineHash() string {
	id, err := os.ReadFile("/etc/machine-id")
	if id = bytes.TrimSpace(id); err != nil || len(id) < 32 {
		return ""
	}
	keyed := hmac.New(sha256.New, id)
	keyed.Write([]byte("hostlab fleet"))
	return hex.EncodeToString(keyed.Sum(nil)[:16])
}
