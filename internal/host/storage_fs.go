package host

import "strings"

// File systems that end somewhere else than in a block device of this machine.
var (
	networkFS = map[string]bool{
		"nfs": true, "nfs4": true, "cifs": true, "smb3": true, "smbfs": true, "ceph": true, "glusterfs": true, "lustre": true,
		"afs": true, "beegfs": true, "gpfs": true, "orangefs": true, "pvfs2": true, "ncpfs": true, "coda": true, "wekafs": true,
		"fuse.sshfs": true, "fuse.glusterfs": true, "fuse.ceph": true, "fuse.ceph-fuse": true, "fuse.s3fs": true,
		"fuse.gcsfuse": true, "fuse.blobfuse": true, "fuse.blobfuse2": true, "fuse.rclone": true, "fuse.davfs": true,
		"fuse.mount-s3": true, "fuse.juicefs": true, "fuse.JuiceFS": true, "fuse.seaweedfs": true, "fuse.curlftpfs": true,
	}
	memoryFS = map[string]bool{"tmpfs": true, "ramfs": true, "rootfs": true, "devtmpfs": true, "hugetlbfs": true}
	// A host shares its own files with the guest by these: what a durable write
	// ends in is up to the host, as it is with a guest's disk, so they are
	// "virtual" and not "network". 9p is both; its option trans decides.
	hostFS   = map[string]bool{"virtiofs": true, "vboxsf": true, "fuse.vmhgfs-fuse": true, "vmhgfs": true, "prl_fs": true}
	pseudoFS = map[string]bool{
		"proc": true, "sysfs": true, "cgroup": true, "cgroup2": true, "devpts": true, "securityfs": true, "debugfs": true,
		"tracefs": true, "configfs": true, "bpf": true, "mqueue": true, "pstore": true, "efivarfs": true, "autofs": true,
		"binfmt_misc": true, "fusectl": true, "nsfs": true, "selinuxfs": true, "rpc_pipefs": true, "fuse.lxcfs": true,
		"fuse.gvfsd-fuse": true, "fuse.portal": true,
	}
)

// fsClass tells the class of file systems without a block device, or why it
// cannot be told. Both are empty where the devices below decide.
func fsClass(m *mount) (class, why string) {
	switch fs := m.fsType; {
	case networkFS[fs]:
		return ClassNetwork, ""
	case memoryFS[fs]:
		return ClassMemory, ""
	case hostFS[fs]:
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

// NetworkFS reports whether the path lies on a file system of another machine,
// as NFS is; a disk reached over a network (iSCSI, NVMe over TCP) is not one.
func (s Storage) NetworkFS() bool {
	return s.Class.Or("") == ClassNetwork && len(s.Stack) == 0
}
