// What the programs read of the kernel's structures. Offsets are relocated when the object is loaded (CO-RE), so that
// a structure here needs only the fields that are read, and in no order.
#pragma once

// libbpf's headers want these from the kernel's, which differ by architecture; no more of those is used.
typedef unsigned char __u8;
typedef signed short __s16;
typedef unsigned short __u16;
typedef signed int __s32;
typedef unsigned int __u32;
typedef signed long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
typedef _Bool bool;

// include/uapi/linux/bpf.h
enum { BPF_MAP_TYPE_HASH = 1, BPF_MAP_TYPE_ARRAY = 2, BPF_MAP_TYPE_RINGBUF = 27, BPF_MAP_TYPE_TASK_STORAGE = 29 };
enum { BPF_F_NO_PREALLOC = 1, BPF_F_MMAPABLE = 1 << 10 };
enum { PF_KTHREAD = 0x00200000 }; // include/linux/sched.h
enum { BPF_ANY, BPF_LOCAL_STORAGE_GET_F_CREATE, BPF_RB_NO_WAKEUP = 1 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	u64 id;
};

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup_subsys_state *subsys[1];
	struct cgroup *dfl_cgrp;
};

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live;
};

struct task_struct {
	unsigned int __state;
	unsigned int flags;
	unsigned in_iowait : 1;
	int on_cpu;
	int pid;
	int tgid;
	struct task_struct *real_parent;
	struct css_set *cgroups;
	struct signal_struct *signal;
};

// Before Linux 5.14 the state was a long, and called so.
struct task_struct___old {
	long state;
};

// The registers with which a task came into the kernel, by architecture. Linux 5.15 has bpf_task_pt_regs.
struct pt_regs___x86 {
	long orig_ax;
};

struct pt_regs___arm64 {
	int syscallno;
};

enum bpf_func_id___regs {
	BPF_FUNC_task_pt_regs___regs = 175,
};

#pragma clang attribute pop

// system_call is the one in which a task is; -1 where that is none, as in an interrupt from its own code.
static __always_inline s32 system_call(struct task_struct *p)
{
	long regs;
	if ((BPF_CORE_READ(p, flags) & PF_KTHREAD) || !bpf_core_enum_value_exists(enum bpf_func_id___regs, BPF_FUNC_task_pt_regs___regs))
		return -1;
	regs = bpf_task_pt_regs(p);
	if (bpf_core_field_exists(struct pt_regs___x86, orig_ax))
		return BPF_CORE_READ((struct pt_regs___x86 *)regs, orig_ax);
	if (bpf_core_field_exists(struct pt_regs___arm64, syscallno))
		return BPF_CORE_READ((struct pt_regs___arm64 *)regs, syscallno);
	return -1;
}
