package clouds

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// command is nvme_passthru_cmd of linux/nvme_ioctl.h.
type command struct {
	opcode, flags              uint8
	_                          uint16
	nsid, cdw2, cdw3           uint32
	metadata, addr             uint64
	metadataLen, dataLen       uint32
	cdw10, cdw11, cdw12, cdw13 uint32
	cdw14, cdw15               uint32
	timeout, result            uint32
}

const (
	adminCmd   = 0xC0484E41 // NVME_IOCTL_ADMIN_CMD
	getLogPage = 0x02
)

// ReadVolume asks a disk such as nvme1n1, which takes root. It reads, and changes nothing.
func ReadVolume(name string) (Volume, error) {
	f, err := os.OpenFile("/dev/"+name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist): // the disk is there, or nobody would have asked
		return Volume{}, fmt.Errorf("there is no /dev/%s here, as in a container", name)
	case err != nil:
		return Volume{}, err
	}
	defer f.Close()
	b := make([]byte, pageSize)
	var pin runtime.Pinner // the kernel gets an address as a number, which Go does not follow
	pin.Pin(&b[0])
	defer pin.Unpin()
	at := uint64(uintptr(unsafe.Pointer(&b[0]))) //nolint:gosec // for the kernel
	c := command{opcode: getLogPage, nsid: 1, addr: at, dataLen: pageSize,
		cdw10: page | (pageSize/4-1)<<16, timeout: 1000}
	if err := ioctl(int(f.Fd()), adminCmd, unsafe.Pointer(&c)); err != nil { //nolint:gosec // for the kernel
		return Volume{}, err
	}
	return Parse(b)
}

// ioctl calls the kernel with the address of what it reads and writes.
func ioctl(fd int, request uintptr, arg unsafe.Pointer) error {
	//nolint:gosec // a descriptor is small
	status, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg))
	switch {
	case errno != 0:
		return errno
	case status != 0:
		return refused(status)
	}
	return nil
}

// ReadNetwork reads how many packets limits of the cloud held back on an interface, by the names of the limits.
func ReadNetwork(name string) (map[string]uint64, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	names, counts, err := statistics(fd, name)
	if err != nil {
		return nil, err
	}
	return allowances(names, counts)
}

// mostCounters is more than any driver has.
const mostCounters = 1 << 14

// statistics are those of ethtool -S (linux/ethtool.h), which takes no rights.
func statistics(fd int, name string) (names []string, counts []uint64, err error) {
	const set, length = 1, 32 // ETH_SS_STATS, ETH_GSTRING_LEN
	info := struct {
		cmd, _ uint32
		mask   uint64
		n      uint32
		_      uint32
	}{cmd: unix.ETHTOOL_GSSET_INFO, mask: 1 << set}
	if err := ethtool(fd, name, unsafe.Pointer(&info)); err != nil { //nolint:gosec // for the kernel
		return nil, nil, err
	}
	if info.mask == 0 || info.n == 0 || info.n > mostCounters {
		return nil, nil, errNone
	}
	n := int(info.n)
	text := make([]uint32, 3+n*length/4)
	text[0], text[1], text[2] = unix.ETHTOOL_GSTRINGS, set, info.n
	if err := ethtool(fd, name, unsafe.Pointer(&text[0])); err != nil { //nolint:gosec // for the kernel
		return nil, nil, err
	}
	values := make([]uint64, 1+n)
	head := (*[2]uint32)(unsafe.Pointer(&values[0])) //nolint:gosec // a command and a number come first
	head[0], head[1] = unix.ETHTOOL_GSTATS, info.n
	if err := ethtool(fd, name, unsafe.Pointer(&values[0])); err != nil { //nolint:gosec // for the kernel
		return nil, nil, err
	}
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&text[3])), n*length) //nolint:gosec // as many as were asked for
	for i := range n {
		word, _, _ := strings.Cut(string(raw[i*length:(i+1)*length]), "\x00")
		names = append(names, word)
	}
	return names, values[1:], nil
}

func ethtool(fd int, name string, data unsafe.Pointer) error {
	if len(name) >= unix.IFNAMSIZ {
		return unix.ENODEV
	}
	r := struct { // ifreq of linux/if.h
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}{data: data}
	copy(r.name[:], name)
	return ioctl(fd, unix.SIOCETHTOOL, unsafe.Pointer(&r)) //nolint:gosec // for the kernel
}
