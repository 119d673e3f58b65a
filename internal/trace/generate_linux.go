package trace

// The object is the same for amd64 and arm64: the kernel says which registers there are, and both are little-endian.
// The compiler is that of Debian 12, so that another build gives the same bytes (scripts/bpf.sh compares).
//go:generate go run github.com/cilium/ebpf/cmd/bpf2go -tags linux -target bpfel -cc clang-14 -strip llvm-strip-14 -cflags "-O2 -mcpu=v3 -Wall -Werror" -type burst -type event sched kernel/sched.c
//go:generate go run github.com/cilium/ebpf/cmd/bpf2go -tags linux -target bpfel -cc clang-14 -strip llvm-strip-14 -cflags "-O2 -mcpu=v3 -Wall -Werror" -type doing calls kernel/calls.c
