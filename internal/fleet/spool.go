package fleet

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"hostlab/internal/trust"
)

// Spooled is a document of a spool, or why it is none.
type Spooled struct {
	*Document
	Path string
	Err  error // *Refused, or that the file cannot be read
}

// File is one of a spool. Err: it cannot be read; nothing else is known then.
type File struct {
	Path string
	Host string // of its folder; "": the document says it
	Err  error
	root *os.Root
}

// Open opens it, and says whether it is packed. What is no file is refused: a FIFO would be waited for, and may be left
// in a spool by every host that may write there.
func (f *File) Open() (in io.ReadCloser, packed bool, err error) {
	in, err = trust.OpenWithin(f.root, f.Path)
	if _, no := errors.AsType[*trust.Refused](err); no {
		err = refuse("it is not a regular file")
	}
	return in, strings.HasSuffix(f.Path, ".gz"), err
}

// Files are those of a spool, in the order of their names: HOST/NAME.json is of that host, whatever it calls itself,
// and NAME.json of the host that it names. Names may end in .gz. They can be opened until each returns for the last.
func Files(dir string, each func(File) error) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch plain := strings.TrimSuffix(name, ".gz"); {
		case err != nil:
			return each(File{Path: name, Err: err})
		case entry.IsDir() || path.Ext(plain) != ".json":
			return nil
		}
		host := ""
		if folder := path.Dir(name); folder != "." {
			host = path.Base(folder)
		}
		return each(File{Path: name, Host: host, root: root})
	})
}

// Spool reads the documents below a directory, one after another.
func Spool(dir string, now time.Time, each func(Spooled) error) error {
	return Files(dir, func(f File) error {
		if f.Err != nil {
			return each(Spooled{Path: f.Path, Err: f.Err})
		}
		in, packed, err := f.Open()
		if err != nil {
			return each(Spooled{Path: f.Path, Err: err})
		}
		defer in.Close()
		d, err := From(in, packed, f.Host, now)
		return each(Spooled{d, f.Path, err})
	})
}

// From reads one document, unpacked where it is packed.
func From(in io.Reader, packed bool, host string, now time.Time) (*Document, error) {
	var d *Document
	err := Body(in, packed, func(body []byte) (err error) {
		d, err = Read(bytes.Clone(body), host, now)
		return err
	})
	return d, err
}

// These are used again: making and growing them takes as long as unpacking a document.
var (
	unpackers = sync.Pool{New: func() any { return new(gzip.Reader) }}
	scratch   = sync.Pool{New: func() any { return new(bytes.Buffer) }}
)

// Body calls use with a document's bytes, unpacked where a file of gzip holds them; the next document takes their
// place. Errors: *Refused, or those of use.
func Body(in io.Reader, packed bool, use func(body []byte) error) error {
	if packed {
		z := unpackers.Get().(*gzip.Reader) //nolint:forcetypeassert // nothing else is put there
		defer unpackers.Put(z)
		if err := z.Reset(in); err != nil {
			return refuse("it is not a gzip file")
		}
		in = z
	}
	whole := scratch.Get().(*bytes.Buffer) //nolint:forcetypeassert // nothing else is put there
	defer scratch.Put(whole)
	whole.Reset()
	_, err := whole.ReadFrom(trust.Reader(in, MaxBody)) // what is unpacked counts
	if tooLarge, ok := errors.AsType[*trust.TooLarge](err); ok {
		return refuse("it is larger than %d MiB", tooLarge.Limit>>20)
	}
	if err != nil {
		return refuse("it cannot be read: %s", fmt.Sprint(err))
	}
	return use(whole.Bytes())
}

// Hash is the name of a document: SHA-256 in hex.
func Hash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

type packer struct {
	*zstd.Encoder
	*zstd.Decoder
}

// packers work for any number of callers at a time.
var packers = sync.OnceValue(func() packer {
	e, err := zstd.NewWriter(nil, zstd.WithWindowSize(1<<20))
	d, err2 := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(MaxBody), zstd.WithDecoderConcurrency(0))
	if err := errors.Join(err, err2); err != nil {
		panic(err) // its options are wrong
	}
	return packer{e, d}
})

// Pack is a body as stores keep it: zstd.
func Pack(body []byte) []byte { return packers().EncodeAll(body, nil) }

// Unpack is the body of what a store keeps.
func Unpack(kept []byte) ([]byte, error) { return packers().DecodeAll(kept, nil) }
