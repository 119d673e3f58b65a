package setting

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"

	"hostlab/internal/host"
)

// Label names an object for people: "governor of policy0", "smt".
func Label(setting, object string) string {
	if object == "" {
		return setting
	}
	return setting + " of " + object
}

// gone says that an object is not there, or not now: its file is missing, its device
// was removed (ENODEV, ENXIO), or it belongs to CPUs that are all offline, for which
// cpufreq says EBUSY to a reader since Linux 5.10.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENODEV) ||
		errors.Is(err, syscall.ENXIO) || errors.Is(err, syscall.EBUSY)
}

func unreadable(o Object, err error) error {
	switch {
	case errors.Is(err, syscall.EBUSY):
		return phrased{o.Path + " is not in use now (EBUSY); its CPUs may be offline", err}
	case errors.Is(err, fs.ErrNotExist):
		return phrased{o.Path + " is not there", err}
	case gone(err):
		return fmt.Errorf("%s is not there: %w", o.Path, pathless{err})
	case errors.Is(err, fs.ErrPermission):
		return phrased{o.Path + " may not be read: " + right(err), err}
	}
	return fmt.Errorf("%s cannot be read: %w", o.Path, pathless{err})
}

// astray is the error of a link of a tree that leads out of it. What it stands for is there, unlike a file that
// is missing, and cannot be set.
type astray struct{ link string }

func (a astray) Error() string {
	return a.link + " is a link that leads out of the directory tree, or to nothing"
}

// phrased is an error whose text says all that its cause would.
type phrased struct {
	text string
	err  error
}

func (p phrased) Error() string { return p.text }
func (p phrased) Unwrap() error { return p.err }

// pathless is an error without the path, which the sentence before it has named.
type pathless struct{ err error }

func (c pathless) Error() string {
	if e, ok := errors.AsType[*fs.PathError](c.err); ok {
		return e.Err.Error()
	}
	return c.err.Error()
}

func (c pathless) Unwrap() error { return c.err }

// Refused is the error of a write that the kernel did not take.
type Refused struct {
	Setting string
	Object  Object
	Value   string
	Reason  string // why, and what would help
	Err     error  // the errno
}

func (r *Refused) Error() string {
	return fmt.Sprintf("cannot set %s to %s: %s", Label(r.Setting, r.Object.Name), r.Value, r.Reason)
}

func (r *Refused) Unwrap() error { return r.Err }

// reason is what an error says of an object that is named already.
func reason(err error) string {
	if r, ok := errors.AsType[*Refused](err); ok {
		return r.Reason
	}
	return err.Error()
}

// refuse says why an object did not take a value, in one line.
func (s Setting) refuse(o Object, value string, err error) *Refused {
	r := &Refused{Setting: s.Name, Object: o, Value: value, Err: err}
	for _, known := range s.refusals {
		if errors.Is(err, known.errno) {
			r.Reason = fmt.Sprintf("%s: %s (%v)", o.Path, known.means, pathless{err})
			return r
		}
	}
	r.Reason = o.Path + ": " + remedy(o.Path, err)
	return r
}

func remedy(path string, err error) string {
	switch {
	case errors.Is(err, io.ErrShortWrite):
		return "took a part of the value only"
	case errors.Is(err, syscall.EROFS):
		mount := "/sys"
		switch {
		case strings.HasPrefix(path, irqDir):
			mount = host.IRQDir
		case strings.HasPrefix(path, "/proc/"):
			mount = "/proc/sys"
		}
		return mount + " is mounted read-only, as is usual in containers: run hostlab on the host itself, or in a " +
			"privileged container"
	case errors.Is(err, syscall.EBUSY):
		return "busy (EBUSY): another setting or the driver keeps it, or its CPUs are offline"
	case errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.ERANGE):
		return fmt.Sprintf("the kernel does not take this value (%v)", pathless{err})
	case errors.Is(err, fs.ErrPermission):
		return right(err)
	case gone(err):
		return fmt.Sprintf("not there any more (%v)", pathless{err})
	case errors.Is(err, syscall.EOPNOTSUPP):
		return "this hardware or driver does not support it"
	}
	return pathless{err}.Error()
}

// right says which right is missing. The mode of a file, root's alone, is overridden
// by CAP_DAC_OVERRIDE, and its lack is EACCES; a kernel that asks for a capability
// itself says EPERM (path_resolution(7), capabilities(7)).
func right(err error) string {
	if runtime.GOOS == "windows" {
		return "permission denied: run hostlab as an administrator"
	}
	capability, errno := "CAP_DAC_OVERRIDE", "EACCES"
	if errors.Is(err, syscall.EPERM) {
		capability, errno = "CAP_SYS_ADMIN", "EPERM"
	}
	if os.Geteuid() != 0 {
		return fmt.Sprintf("permission denied (%s): run as root, or with %s", errno, capability)
	}
	return fmt.Sprintf("refused even to root (%s), as without %s in a container, under lockdown, or in a state that does "+
		"not allow it", errno, capability)
}

// OwnerSet is the owner of what 'hostlab set' has changed. Others are directories of experiments.
const OwnerSet = "set"

// Owned says that another owner has changed an object. An object has one owner at a time, who alone puts it back.
type Owned struct {
	Setting string
	Object  Object
	Owner   string
}

func (e *Owned) Error() string {
	who := "'hostlab set'"
	if e.Owner != OwnerSet {
		who = "the experiment in " + e.Owner
	}
	return fmt.Sprintf("%s is changed by %s, and only one at a time can change it; restore it by 'hostlab revert "+
		"--owner %s', or add --forget to keep its value for good", Label(e.Setting, e.Object.Name), who, e.Owner)
}

// Free is an *Owned if another owner has changed an object of a plan, or one that the plan changes beside them.
func (v *View) Free(owner string, p *Plan) error {
	for _, step := range p.Steps {
		paths := []string{step.Path}
		for _, side := range v.sys.setting(step.Setting).sides(v.sys, step.Object) {
			paths = append(paths, side.Object.Path)
		}
		for _, path := range paths {
			if o := v.st.objects[path]; o != nil && o.Owner != owner && !o.rebooted(v.boot) {
				return &Owned{o.Setting, o.object(), o.Owner}
			}
		}
	}
	return nil
}

// Problem is what is wrong with a journal. But for Unended it may not be used until a person
// has decided: see Journal.Accept and Journal.Forget.
type Problem struct {
	Kind Kind
	Path string // of the journal
	Line int
	What string
	// Names are the objects that may still be changed.
	Names []string
}

type Kind int

const (
	Damaged   Kind = iota // lines are lost, or not as they were written
	Lost                  // no change could be read at all
	OtherHost             // it is intact, and of another machine
	Unended               // its last set has no end
)

// Usable reports a problem that does not keep the journal from being used.
func (p *Problem) Usable() bool { return p.Kind == Unended }

func (p *Problem) Error() string {
	return p.Found() + map[Kind]string{
		Damaged: ". Look at it; 'hostlab revert --force' then puts back what could be read of it, and 'hostlab revert " +
			"--forget' sets it aside",
		Lost: ". Compare 'hostlab settings' with what this host should have, or start it again; 'hostlab revert --forget' " +
			"then sets the journal aside",
		OtherHost: ". Use 'hostlab revert --force' if it is this one's, or 'hostlab revert --forget' to set it aside",
		Unended:   "; 'hostlab revert' puts it back",
	}[p.Kind]
}

// Found is what is wrong, without the advice: for those who have followed it.
func (p *Problem) Found() string {
	text := fmt.Sprintf("%s:%d: the journal is damaged: %s", p.Path, p.Line, p.What)
	switch p.Kind {
	case OtherHost:
		return fmt.Sprintf("%s: it is the journal of another machine (%s)", p.Path, p.What)
	case Lost:
		return text + ". Some values may still be changed. The journal does not say which"
	case Unended:
		text = p.Path + ": the last set of changes has no end: hostlab is still writing it, was killed, or the journal was " +
			"cut"
	}
	if len(p.Names) == 0 {
		return text
	}
	const most = 6
	text += "; it names what may still be changed: " + strings.Join(p.Names[:min(most, len(p.Names))], ", ")
	if more := len(p.Names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
