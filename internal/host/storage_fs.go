package host

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// File systems that end somewhere else than in a block device of this machine.
var (
	// The name that people know each by.
	networkFS = map[string]string{
		"nfs": "NFS", "nfs4": "NFS", "cifs": "SMB", "smb3": "SMB", "smbfs": "SMB", "ceph": "CephFS", "glusterfs": "GlusterFS",
		"lustre": "Lustre", "afs": "AFS", "beegfs": "BeeGFS", "gpfs": "GPFS", "orangefs": "OrangeFS", "pvfs2": "OrangeFS",
		"ncpfs": "NetWare", "coda": "Coda", "wekafs": "WEKA", "davfs": "WebDAV", "fuse.davfs": "WebDAV",
		"fuse.sshfs":     "SSHFS",
		"fuse.glusterfs": "GlusterFS", "fuse.ceph": "CephFS", "fuse.ceph-fuse": "CephFS", "fuse.s3fs": "S3",
		"fuse.mount-s3": "S3", "fuse.gcsfuse": "Google Cloud Storage", "fuse.blobfuse": "Azure Blob Storage",
		"fuse.blobfuse2": "Azure Blob Storage", "fuse.rclone": "rclone", "fuse.juicefs": "JuiceFS", "fuse.JuiceFS": "JuiceFS",
		"fuse.seaweedfs": "SeaweedFS", "fuse.curlftpfs": "FTP",
	}
	memoryFS = map[string]bool{"tmpfs": true, "ramfs": true, "rootfs": true, "devtmpfs": true, "hugetlbfs": true}
	// A host shares its own files with the guest by these: what a durable write
	// ends in is up to the host, as it is with a guest's disk, so they are
	// "virtual" and not "network". 9p is both; its option trans decides.
	hostFS = map[string]string{
		"virtiofs": "virtiofs", "vboxsf": "VirtualBox shared folder", "fuse.vmhgfs-fuse": "VMware shared folder",
		"vmhgfs": "VMware shared folder", "prl_fs": "Parallels shared folder",
	}
	pseudoFS = map[string]bool{
		"proc": true, "sysfs": true, "cgroup": true, "cgroup2": true, "devpts": true, "securityfs": true, "debugfs": true,
		"tracefs": true, "configfs": true, "bpf": true, "mqueue": true, "pstore": true, "efivarfs": true, "autofs": true,
		"binfmt_misc": true, "fusectl": true, "nsfs": true, "selinuxfs": true, "rpc_pipefs": true, "fuse.lxcfs": true,
		"fuse.gvfsd-fuse": true, "fuse.portal": true,
	}
)

// fsClass tells the class of file systems without a block device, or why it
// is not known. Both are empty where the devices below decide.
func fsClass(m *mount) (class, why string) {
	switch fs := m.fsType; {
	case networkFS[fs] != "":
		return ClassNetwork, ""
	case memoryFS[fs]:
		return ClassMemory, ""
	case hostFS[fs] != "":
		return ClassVirtual, ""
	case fs == "9p":
		if trans, _ := m.option("trans"); trans == "tcp" || trans == "rdma" {
			return ClassNetwork, ""
		}
		return ClassVirtual, ""
	case pseudoFS[fs]:
		return "", fs + " is made up by the kernel and stores nothing"
	case fs == "zfs":
		pool, _, _ := strings.Cut(m.source, "/")
		return "", "ZFS does not show its devices in /sys; zpool status " + pool + " lists them"
	case fs == "fuse" || strings.HasPrefix(fs, "fuse."):
		return "", "a program serves this file system (" + fs + "), and only it knows where the data go"
	}
	return "", ""
}

// Shared names the file systems that another machine serves, or this machine's
// hypervisor: "NFS" of nfs4. It is empty for all others.
func Shared(fsType string) string {
	if fsType == "9p" {
		return "9P"
	}
	return networkFS[fsType] + hostFS[fsType] // none is in both
}

// Pseudo reports whether a file system is made up by the kernel, or by a program
// for views like those, and stores nothing.
func Pseudo(fsType string) bool { return pseudoFS[fsType] }

// NetworkFS reports whether the path lies on a file system of another machine,
// as NFS is; a disk reached over a network (iSCSI, NVMe over TCP) is not one.
func (s Storage) NetworkFS() bool {
	return s.Class.Or("") == ClassNetwork && len(s.Stack) == 0
}

// attributes are what only system calls tell of a path.
type attributes struct {
	free     Fact[int64] // B, for users without a reserve: statfs f_bavail
	readOnly Fact[bool]
	isDAX    Fact[bool] // statx of a regular file there: STATX_ATTR_DAX
	inherits Fact[bool] // the directory's FS_DAX_FL, which new files inherit
}

// statxDir is where a recording keeps attributes, a file for each path. Its
// content is one line of words in any order, those that are known:
//
//	dax=1 inherit=0 free=123456 readonly=0
//
// dax is STATX_ATTR_DAX of a regular file, inherit the directory's FS_DAX_FL,
// free the bytes of statfs, readonly its ST_RDONLY. The file has the path's own
// name below this folder, as in /.hostlab/statx/var/lib/pgsql; where that has to
// be a folder itself, since a path below it was recorded as well, the file is
// named ".attr" in it. A recording is written in the second form.
const statxDir = "/.hostlab/statx"

func statxFile(p string) string { return path.Join(statxDir, p, ".attr") }

// flag is one attribute that is set or not, by its name in a recording.
type flag struct {
	name string
	fact *Fact[bool]
}

func (a *attributes) flags() []flag {
	return []flag{{"dax", &a.isDAX}, {"inherit", &a.inherits}, {"readonly", &a.readOnly}}
}

// line is what a recording keeps. It is empty where the system tells nothing.
func (a *attributes) line() string {
	var words []string
	for _, f := range a.flags() {
		if v, ok := f.fact.Get(); ok {
			words = append(words, f.name+map[bool]string{true: "=1", false: "=0"}[v])
		}
	}
	if v, ok := a.free.Get(); ok {
		words = append(words, fmt.Sprintf("free=%d", v))
	}
	return strings.Join(words, " ")
}

// attributesOf reads a path's attributes: from the kernel on the machine itself,
// else from the recording.
func attributesOf(t Tree, path string) (a attributes) {
	if t.Live() {
		a = liveAttributes(path)
		t.stated(statxFile(path), a.line())
		return a
	}
	text, source := "", "statx, statfs"
	for _, file := range []string{statxDir + path, statxFile(path)} {
		if b, err := t.Read(file); err == nil {
			text, source = string(b), file
			break
		}
	}
	words := map[string]string{}
	for _, w := range strings.Fields(text) {
		k, v, _ := strings.Cut(w, "=")
		words[k] = v
	}
	for _, f := range a.flags() {
		*f.fact = attribute(words, source, f.name, "", strconv.ParseBool)
	}
	a.free = attribute(words, source, "free", "B", func(s string) (int64, error) {
		n, err := strconv.ParseUint(s, 10, 63)
		return int64(n), err //nolint:gosec // of 63 bits
	})
	return a
}

func attribute[T any](words map[string]string, source, name, unit string, parse func(string) (T, error)) Fact[T] {
	source += " " + name
	text, ok := words[name]
	if !ok {
		return absentFact[T](source, "the recording does not hold it")
	}
	v, err := parse(text)
	if err != nil {
		return Unknown[T](source, fmt.Errorf("expected a number, found %s", clip(text)))
	}
	return Known(v, unit, source)
}

// daxInForce tells whether a new file on a mount is accessed without the page
// cache (Documentation/filesystems/dax.rst, Linux 5.8 and later: dax=always,
// dax=never, dax=inode, and inode where nothing is set; "dax" alone is always).
// A device that can and a mount that asks are needed both; then the directory's
// flag decides where the option leaves it open. statx has the last word, but
// says it of regular files only: a directory never has STATX_ATTR_DAX.
func daxInForce(m *mount, st *stack, a attributes) Fact[bool] {
	where := "mount options of " + m.point
	mode, set := m.option("dax")
	switch m.fsType {
	case "ext2", "ext4", "xfs":
	case "virtiofs":
		return Known(set && mode != "never", "", where) // the host's page cache is mapped
	default:
		return Known(false, "", "file system "+m.fsType+" has no DAX")
	}
	if set && mode == "never" {
		return Known(false, "", where+": dax=never")
	}
	if st.top != "" {
		dev := st.block.t.Bool(st.block.dir(st.top) + "/queue/dax")
		if can, ok := dev.Get(); ok && !can {
			return Known(false, "", dev.Source)
		} else if dev.State == StateAbsent {
			return Known(false, "", dev.Source+" is not there: no DAX")
		}
	}
	if a.isDAX.State == StateOK {
		return a.isDAX
	}
	if set && (mode == "" || mode == "always") {
		return Known(true, "", where+": dax")
	}
	if a.inherits.State == StateOK {
		return a.inherits
	}
	f := Unknown[bool](where, fs.ErrNotExist)
	f.Reason = "the directory's own attribute decides (dax=inode), and it could not be read"
	return f
}
