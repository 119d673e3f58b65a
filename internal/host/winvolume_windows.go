package host

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// VolumeRoot is where the volume of an existing path is mounted, such as C:\.
func VolumeRoot(full string) (string, error) {
	v, _, err := volumeOf(full)
	return v.Root, err
}

// volumeOf asks Windows for the volume of an existing path. Source names the calls.
func volumeOf(full string) (v volume, source string, err error) {
	source = "GetVolumeInformation"
	fail := func(call string, err error) (volume, string, error) {
		return volume{}, source, fmt.Errorf("%s: %w", call, err)
	}
	name, err := windows.UTF16PtrFromString(full)
	if err != nil {
		return volume{}, source, err
	}
	if _, err := windows.GetFileAttributes(name); err != nil {
		return volume{}, source, err
	}
	root := make([]uint16, len(full)+2+windows.MAX_PATH)
	if err := windows.GetVolumePathName(name, &root[0], uint32(len(root))); err != nil {
		return fail("GetVolumePathName", err)
	}
	var flags uint32
	kind := make([]uint16, windows.MAX_PATH+1)
	if err := windows.GetVolumeInformation(&root[0], nil, 0, nil, nil, &flags, &kind[0], uint32(len(kind))); err != nil {
		return fail("GetVolumeInformation", err)
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(name, &free, nil, nil); err != nil { // quotas are of a directory
		if err = windows.GetDiskFreeSpaceEx(&root[0], &free, nil, nil); err != nil {
			return fail("GetDiskFreeSpaceEx", err)
		}
	}
	drive := windows.GetDriveType(&root[0])
	return volume{
		Root: windows.UTF16ToString(root), FSType: windows.UTF16ToString(kind), Free: int64(free),
		Remote: drive == windows.DRIVE_REMOTE, Memory: drive == windows.DRIVE_RAMDISK,
		ReadOnly: flags&windows.FILE_READ_ONLY_VOLUME != 0, DAX: flags&windows.FILE_DAX_VOLUME != 0,
	}, source, nil
}
