package main

import "io/fs"

// superuser is who may change everything.
const superuser = "an administrator"

// accessDir leaves the answer to the write itself: Windows has no cheap question.
func accessDir(string) error { return nil }

// umask is none: permissions are inherited from the directory.
func umask() fs.FileMode { return 0 }

func ignoreSuspend() {}

func onHost(string) error {
	return usagef("--proc-root: only Linux has containers that can enter their host")
}
