package trust

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Output is where a command writes: the place of a file that is to be made or replaced, or a
// stream that is there, such as a FIFO, a terminal or this process's own standard output.
type Output struct {
	Dir  *os.Root
	Name string // in Dir

	path   string // as it was given
	stream fs.FileInfo
}

// NewOutput finds the place of an output, as Place does. It opens no stream, whose reader would
// notice, but refuses those that Open would. Errors: *Refused, *fs.PathError.
func NewOutput(path string) (*Output, error) {
	dir, base, err := alone.place(path, descriptor)
	if err != nil {
		return nil, err
	}
	o := &Output{Dir: dir, Name: base, path: path}
	if info, err := o.info(); err == nil && !info.Mode().IsRegular() {
		o.stream = info
		err = o.refuse(info)
		if err != nil {
			o.Close()
			return nil, err
		}
	}
	return o, nil
}

// Stream reports an output that is no file.
func (o *Output) Stream() bool { return o.stream != nil }

// Close closes the directory.
func (o *Output) Close() { o.Dir.Close() }

// refuse refuses a stream of another user, who would choose where it leads to. That others may write to
// it too does no harm, as to /dev/null. A descriptor of this process is what its starter has chosen.
func (o *Output) refuse(info fs.FileInfo) error {
	const written = fs.ModeNamedPipe | fs.ModeCharDevice | fs.ModeSymlink
	why := alone.owner(info)
	switch {
	case info.Mode()&fs.ModeSymlink != 0 && descriptor(o.Dir, o.Name):
		return nil
	case info.Mode()&written == 0 || info.Mode()&fs.ModeSymlink != 0:
		why = "is " + kind(info.Mode()) + ", to which no report is written"
	case why == "":
		return nil
	default:
		why = "is " + kind(info.Mode()) + " that " + why
	}
	return &Refused{Path: filepath.Join(o.Dir.Name(), o.Name), Why: why}
}
