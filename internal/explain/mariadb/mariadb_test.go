package mariadb

import (
	"testing"

	"hostlab/internal/testkit"
)

// What is printed can be pasted: names stand as SQL wants them.
func TestAccount(t *testing.T) {
	for user, want := range map[string]string{
		"mon@%": `'mon'@'%'`, "o'neil@10.0.0.%": `'o''neil'@'10.0.0.%'`, "a@corp@localhost": `'a@corp'@'localhost'`,
		"@localhost": `''@'localhost'`, `a\b@h`: `'a\\b'@'h'`, "role": `'role'`,
	} {
		testkit.Is(t, want, account(user), user)
	}
}
