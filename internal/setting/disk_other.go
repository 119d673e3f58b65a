//go:build !unix

package setting

// NTFS logs changes of names itself, and a directory cannot be flushed there.
const dirsSync = false
