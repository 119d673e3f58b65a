package fleet

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"hostlab/internal/bounded"
)

// Spooled is a document of a spool, or why it is none.
type Spooled struct {
	*Document
	Path string
	Err  error // *Refused, or that the file cannot be read
}

// Spool reads the documents below a directory, in the order of their names: HOST/NAME.json is of that host, whatever
// it calls itself, and NAME.json of the host that it names. Names may end in .gz.
func Spool(dir string, now time.Time, each func(Spooled) error) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch plain := strings.TrimSuffix(name, ".gz"); {
		case err != nil:
			return each(Spooled{Path: name, Err: err})
		case entry.IsDir() || path.Ext(plain) != ".json":
			return nil
		}
		host := ""
		if folder := path.Dir(name); folder != "." {
			host = path.Base(folder)
		}
		f, err := root.Open(name)
		if err != nil {
			return each(Spooled{Path: name, Err: err})
		}
		defer f.Close()
		d, err := From(f, strings.HasSuffix(name, ".gz"), host, now)
		return each(Spooled{d, name, err})
	})
}

// From reads one document, unpacked where it is packed.
func From(in io.Reader, packed bool, host string, now time.Time) (*Document, error) {
	if packed {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, refuse("it is no gzip file")
		}
		in = z
	}
	body, err := io.ReadAll(bounded.Reader(in, MaxBody)) // what is unpacked counts
	if err != nil {
		if tooLarge, ok := errors.AsType[*bounded.TooLarge](err); ok {
			return nil, refuse("it is larger than %d MiB", tooLarge.Limit>>20)
		}
		return nil, refuse("it cannot be read: %s", fmt.Sprint(err))
	}
	return Read(body, host, now)
}
