package host

import "strings"

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
