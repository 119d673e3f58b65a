// What processes do with their CPU time: samples of the CPUs' clocks say in which system call the kernel works for them.
#include "types.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

enum { OWN_CODE = -2 }; // beside -1 of system_call: a page fault or an interrupt

struct doing {
	u32 tgid, parent;
	s32 call;
};

const struct doing *doing_for_user_space __attribute__((unused)); // else its type is left out of the object

// Programs of samples may use no map that allocates before Linux 6.1. User space takes no more samples than it has room.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 14);
	__type(key, struct doing);
	__type(value, u64);
} doings SEC(".maps");

static __always_inline int count(s32 call)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct doing key = {.tgid = p->tgid, .call = call};
	u64 one = 1, *n;
	if (p->flags & PF_KTHREAD)
		return 0;
	if (call != OWN_CODE)
		key.call = system_call(p);
	key.parent = BPF_CORE_READ(p, real_parent, tgid);
	n = bpf_map_lookup_elem(&doings, &key);
	if (n)
		__sync_fetch_and_add(n, 1);
	else
		bpf_map_update_elem(&doings, &key, &one, BPF_ANY);
	return 0;
}

SEC("perf_event")
int in_kernel(void *context)
{
	return count(0);
}

SEC("perf_event")
int in_own_code(void *context)
{
	return count(OWN_CODE);
}
