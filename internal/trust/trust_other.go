//go:build !unix

package trust

import (
	"io/fs"
	"os"
)

// Windows opens no FIFO by a path below a directory.
const nonblock = 0

func links(fs.FileInfo) int { return 1 }

// foreign knows no owners here: Windows keeps them in access lists, which hostlab does
// not read. hostlab changes nothing there for another user.
func (users) foreign(fs.FileInfo, func() ([]byte, error)) string { return "" }

func openList(*os.File) ([]byte, error) { return nil, nil }

func pathList(string) ([]byte, error) { return nil, nil }

func sticky(fs.FileInfo) bool { return false }

// exposed cannot tell: the mode that Go makes up here says nothing of the access list.
func exposed(fs.FileInfo, bool) bool { return false }

func caller() users { return alone }

func OwnerOf(string) string { return "" }

func (users) owner(fs.FileInfo) string { return "" }

func descriptor(*os.Root, string) bool { return false }

// Windows' devices, such as NUL, are in every directory and in no list.
func (o *Output) info() (fs.FileInfo, error) { return os.Stat(o.path) }

// Open opens a stream for writing.
func (o *Output) Open() (*os.File, error) { return os.OpenFile(o.path, os.O_WRONLY, 0) }
