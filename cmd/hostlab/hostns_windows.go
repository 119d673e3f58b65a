package main

func onHost(string) error {
	return usagef("--proc-root: only Linux has containers that can enter their host")
}
