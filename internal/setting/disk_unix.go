//go:build unix

package setting

const dirsSync = true
