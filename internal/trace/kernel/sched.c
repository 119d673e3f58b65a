// What the scheduler does with a service: how long each CPU computes and idles, and for whom; how long the service's
// threads wait for a CPU; how long they run beside a busy sibling.
//
// Events count in windows alone. T is time that only passes in windows, so that an interval of T never holds time that
// was not watched. Outside a window a switch costs a look at two words, and keeps whether the CPU is busy.
#include "types.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

enum { BUCKETS = 208, LEVELS = 32 };

// A window, as user space opens it. Nothing changes in it while its number is in state.
struct window {
	u64 opened; // CLOCK_MONOTONIC
	u64 length; // ns; programs close the window after it, also where user space is stopped
	u64 before; // T when it was opened
};

// state is the window's number, shifted by one, and whether it is open. One store changes both.
volatile u64 state = 0;
struct window windows[2] = {};

// What makes a task part of the service. cgroup_subsys is the index of the hierarchy (version 1), or -1 (version 2).
const volatile s32 cgroup_subsys = -1;
const volatile u8 by_cgroup;

// A CPU's row is written on that CPU, with interrupts off, so that no count needs an atomic.
struct cpu {
	u64 busy;    // T in which the CPU was busy: an offset << 1 | whether it is busy now
	u64 last;    // T of the last switch that was looked at
	u64 beside;  // busy T of the sibling at that time
	u64 run;     // T in which the service ran
	u64 overlap; // of that, T in which the sibling was busy
	s64 queued;  // T in which tasks of the service waited: ends less beginnings, from the window's opening
	s64 waiting; // tasks that began to wait in a window, less those that got a CPU
	u64 counted, skipped; // switches in and outside windows
	u64 lost;   // bursts for which the ring had no room
	u64 missed; // looks at a task's storage that failed
	u64 unseen; // switches that no tracepoint told of: the next one leaves another task than the last one began
	u64 last_ns, last_rel; // of the last switch in a window
	u64 slept[2]; // ns from waking to running, on a CPU that was busy, and on one that was idle
	u64 burst, burst_end, burst_t, burst_busy, burst_run; // the burst that began in a window
	u64 idle_since; // 0: before the window
	s32 sibling;
	u32 seen; // the last window of which the beginning was accounted for
	u32 pid;  // that runs
	u8 known, open;
	u32 hist[2][BUCKETS]; // wake-ups by latency, as slept
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); // user space: the possible CPUs
	__type(key, u32);
	__type(value, struct cpu);
} cpus SEC(".maps");

// A complete burst.
struct burst {
	u64 start;          // CLOCK_MONOTONIC
	u64 busy, idle;     // ns
	u64 run, watched;   // ns of busy that the service ran, of those that lay in windows
	u32 cpu, window;
};

const struct burst *burst_for_user_space __attribute__((unused)); // else its type is left out of the object

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} ring SEC(".maps");

// An event in a window, of any task: one leaves a CPU to another, or wakes it.
struct event {
	u64 at;        // CLOCK_MONOTONIC
	u32 tid, tgid; // that leaves the CPU, or wakes the other; 0: an idle CPU
	u32 to, to_tgid;
	s32 call; // system call of the one that blocks, or is woken; -1: none
	u32 word; // of PostgreSQL, of the one that leaves
	u16 cpu;
	u8 kind, flags;
};

enum { SWITCH, WAKE };
enum { READY = 1, DISK = 2, DEVICE = 4, MEMBER = 8, TO_MEMBER = 16, INTERRUPT = 32 };

const struct event *event_for_user_space __attribute__((unused));
const volatile u8 chains; // whether events are told

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} events SEC(".maps");

volatile u64 dropped = 0; // events for which the ring had no room

// Where processes of PostgreSQL say what they wait for.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, u64);
} words SEC(".maps");

// Processes of the service, and whether their children belong to it too.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, u8);
} processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);
	__type(value, u8);
} cgroups SEC(".maps");

enum { UNSEEN, RUNNING, BLOCKED, WAITING };

struct task {
	u64 woken;  // 0: it waits since it was preempted
	u64 began;  // to wait, in T since the window was opened
	u32 window; // that the rest is of
	u8 member, stage;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task);
} tasks SEC(".maps");

// moment is what a program knows of now.
struct moment {
	u64 ns, t, rel; // rel: T since the window was opened
	u32 window;
	u8 on;
};

static __always_inline struct moment closed(u64 s)
{
	struct window *w = &windows[(s >> 1) & 1];
	return (struct moment){.t = w->before + w->length, .rel = w->length, .window = s >> 1};
}

static __always_inline struct moment look(u64 s)
{
	struct window *w = &windows[(s >> 1) & 1];
	struct moment m = {.ns = bpf_ktime_get_ns(), .window = s >> 1, .on = s & 1};
	s64 since = m.ns - w->opened;
	if (since < 0)
		since = 0;
	if (since >= w->length) {
		since = w->length;
		if (m.on)
			__sync_val_compare_and_swap(&state, s, s & ~1ULL);
		m.on = 0;
	}
	m.rel = since;
	m.t = w->before + since;
	return m;
}

static __always_inline u64 busy_time(u64 word, u64 t)
{
	return (u64)((s64)word >> 1) + ((word & 1) ? t : 0);
}

static __always_inline u64 turned(u64 word, u64 t, int busy)
{
	u64 total = busy_time(word, t);
	return (busy ? total - t : total) << 1 | busy;
}

// bucket is the class of a latency: 8 in each power of two, from 128 ns. Those of 8.6 s and more share the last.
static __always_inline u32 bucket(u64 ns)
{
	u32 log = 0, b;
	if (ns < 128)
		return 0;
	if (ns >= 1ULL << 32)
		log = 32;
#pragma unroll
	for (int step = 16; step; step >>= 1)
		if (ns >> (log + step))
			log += step;
	b = (log - 7) * 8 + ((ns >> (log - 3)) & 7) + 1;
	return b < BUCKETS ? b : BUCKETS - 1;
}

static __always_inline u64 cgroup_id(struct cgroup_subsys_state *css)
{
	return BPF_CORE_READ(css, cgroup, kn, id);
}

static __noinline int below_cgroup(struct task_struct *p)
{
	struct cgroup_subsys_state *css;
	if (!p)
		return 0;
	if (cgroup_subsys < 0) {
		css = (void *)BPF_CORE_READ(p, cgroups, dfl_cgrp);
		if (css) // self is the first of a cgroup, where a compiler may not put it
			css = __builtin_preserve_access_index(&((struct cgroup *)css)->self);
	} else {
		struct css_set *set = BPF_CORE_READ(p, cgroups);
		struct cgroup_subsys_state **at = (void *)__builtin_preserve_access_index(&set->subsys);
		bpf_probe_read_kernel(&css, sizeof css, at + cgroup_subsys);
	}
	for (int i = 0; i < LEVELS && css; i++) {
		u64 id = cgroup_id(css);
		if (bpf_map_lookup_elem(&cgroups, &id))
			return 1;
		css = BPF_CORE_READ(css, parent);
	}
	return 0;
}

static __always_inline struct task *task_of(struct task_struct *p, struct moment *m, struct cpu *cpu)
{
	struct task *t = bpf_task_storage_get(&tasks, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!t) {
		cpu->missed++;
		return 0;
	}
	if (t->window != m->window + 1) { // 0 is storage that is new
		u32 tgid = p->tgid;
		t->window = m->window + 1;
		t->stage = UNSEEN;
		t->member = bpf_map_lookup_elem(&processes, &tgid) || (by_cgroup && below_cgroup(p));
	}
	return t;
}

static __always_inline int runnable(struct task_struct *p)
{
	if (bpf_core_field_exists(p->__state))
		return BPF_CORE_READ(p, __state) == 0;
	return BPF_CORE_READ((struct task_struct___old *)p, state) == 0;
}

// end_of_busy and begin_of_busy keep the burst that the CPU is in.
static __always_inline void end_of_busy(struct cpu *cpu, u64 ns, u64 t)
{
	cpu->burst_end = ns;
	cpu->burst_busy = t - cpu->burst_t;
}

static __always_inline void end_of_burst(struct cpu *cpu, u64 ns, u32 number, u32 window)
{
	struct burst *b;
	cpu->open = 0;
	if (!cpu->burst_end)
		return;
	b = bpf_ringbuf_reserve(&ring, sizeof *b, 0);
	if (!b) {
		cpu->lost++;
		return;
	}
	b->start = cpu->burst;
	b->busy = cpu->burst_end - cpu->burst;
	b->idle = ns - cpu->burst_end;
	b->run = cpu->burst_run;
	b->watched = cpu->burst_busy;
	b->cpu = number;
	b->window = window;
	bpf_ringbuf_submit(b, BPF_RB_NO_WAKEUP); // user space looks by itself: waking it would be a switch more
}

static __noinline void turn(struct cpu *cpu, struct moment *m, int busy, u32 number)
{
	if (!cpu || !m)
		return;
	cpu->busy = turned(cpu->busy, m->t, busy);
	cpu->idle_since = busy || !m->on ? 0 : m->ns;
	if (!busy) {
		if (cpu->open)
			end_of_busy(cpu, m->ns, m->t);
		return;
	}
	if (cpu->open)
		end_of_burst(cpu, m->ns, number, m->window);
	if (m->on) {
		cpu->open = 1;
		cpu->burst = m->ns;
		cpu->burst_t = m->t;
		cpu->burst_end = cpu->burst_run = 0;
	}
}

// account gives the stretch since the last switch to the task that ran in it.
static __always_inline void account(struct cpu *cpu, struct moment *m, int member)
{
	u64 beside = 0, now, t = m->t > cpu->last ? m->t - cpu->last : 0;
	if (cpu->sibling >= 0) {
		u32 s = cpu->sibling;
		struct cpu *other = bpf_map_lookup_elem(&cpus, &s);
		if (other)
			beside = busy_time(*(volatile u64 *)&other->busy, m->t);
	}
	if (member) {
		now = beside > cpu->beside ? beside - cpu->beside : 0;
		cpu->run += t;
		cpu->overlap += now < t ? now : t;
		if (cpu->open)
			cpu->burst_run += t;
	}
	cpu->last = m->t;
	cpu->beside = beside;
}

static __always_inline void begins_to_wait(struct cpu *cpu, struct task *t, struct moment *m, u64 woken)
{
	t->stage = WAITING;
	t->woken = woken;
	t->began = m->rel;
	cpu->queued -= m->rel;
	cpu->waiting++;
}

// got_cpu_unseen ends a wait of which the end was not seen, at the last switch before it.
static __always_inline void got_cpu_unseen(struct cpu *cpu, struct task *t)
{
	cpu->queued += cpu->last_rel > t->began ? cpu->last_rel : t->began;
	cpu->waiting--;
}

static __always_inline void gets_cpu(struct cpu *cpu, struct task *t, struct moment *m, int from_idle)
{
	if (t->stage == WAITING) {
		cpu->queued += m->rel;
		cpu->waiting--;
		if (t->woken) {
			u64 ns = m->ns > t->woken ? m->ns - t->woken : 0;
			int idle = from_idle && cpu->idle_since <= t->woken;
			u32 b = bucket(ns);
			if (b < BUCKETS)
				cpu->hist[idle][b]++;
			cpu->slept[idle] += ns;
		}
	} else if (t->stage == UNSEEN) {
		cpu->queued += m->rel; // it waited when the window was opened
	}
	t->stage = RUNNING;
	t->woken = 0;
}

static __always_inline u8 sleeps(struct task_struct *p)
{
	u8 flags = 0;
	if (bpf_core_field_exists(p->__state) ? BPF_CORE_READ(p, __state) & 2 : BPF_CORE_READ((struct task_struct___old *)p, state) & 2)
		flags = DISK;
	if (BPF_CORE_READ_BITFIELD_PROBED(p, in_iowait))
		flags |= DEVICE;
	return flags;
}

static __noinline void tell(struct event *e)
{
	struct event *out;
	if (!e)
		return;
	out = bpf_ringbuf_reserve(&events, sizeof *out, 0);
	if (!out) {
		__sync_fetch_and_add(&dropped, 1);
		return;
	}
	*out = *e;
	bpf_ringbuf_submit(out, BPF_RB_NO_WAKEUP);
}

static __always_inline void tell_switch(struct task_struct *prev, struct task_struct *next, struct moment *m, u32 cpu, int ready, u8 members)
{
	struct event e = {.at = m->ns, .tid = prev->pid, .tgid = prev->tgid, .to = next->pid, .to_tgid = next->tgid, .cpu = cpu,
		.kind = SWITCH, .flags = members, .call = -1};
	u64 *at;
	if (ready) {
		e.flags |= READY;
	} else if (e.tid) {
		e.flags |= sleeps(prev);
		e.call = system_call(prev);
		at = bpf_map_lookup_elem(&words, &e.tgid);
		if (at)
			bpf_probe_read_user(&e.word, sizeof e.word, (void *)*at);
	}
	tell(&e);
}

static __always_inline void tell_wake(struct task_struct *p, struct moment *m, u32 cpu, u8 members)
{
	struct task_struct *by = bpf_get_current_task_btf();
	struct event e = {.at = m->ns, .tid = by->pid, .tgid = by->tgid, .to = p->pid, .to_tgid = p->tgid, .cpu = cpu,
		.kind = WAKE, .flags = members | sleeps(p), .call = system_call(p)};
	if (!(BPF_CORE_READ(by, flags) & PF_KTHREAD) && system_call(by) < 0)
		e.flags |= INTERRUPT;
	tell(&e);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	u32 number = bpf_get_smp_processor_id();
	struct cpu *cpu = bpf_map_lookup_elem(&cpus, &number);
	u64 s = state;
	int busy = next->pid != 0, was = prev->pid != 0;
	struct moment m;
	struct task *t;
	u8 members = 0;
	if (!cpu)
		return 0;
	if (!cpu->known) { // attached since the last switch: it has been so since the window was opened
		cpu->known = 1;
		cpu->busy = turned(cpu->busy, cpu->last, was);
		cpu->idle_since = 0;
		cpu->open = 0;
	} else if (cpu->pid != prev->pid) {
		cpu->unseen++;
		if ((cpu->busy & 1) != was) { // take the last switch for the one that was not seen
			cpu->busy = turned(cpu->busy, cpu->last, was);
			cpu->idle_since = was ? 0 : cpu->last_ns;
			cpu->open = 0;
		}
	}
	cpu->pid = next->pid;
	if (!(s & 1) && cpu->seen == (u32)(s >> 1)) {
		cpu->skipped++;
		if (busy == was)
			return 0;
		m = closed(s);
		if (cpu->open)
			m.ns = bpf_ktime_get_ns();
		turn(cpu, &m, busy, number);
		return 0;
	}
	cpu->counted++;
	m = look(s);
	if (was) {
		t = task_of(prev, &m, cpu);
		account(cpu, &m, t && t->member);
		if (m.on && t && t->member) {
			members = MEMBER;
			if (t->stage == WAITING)
				got_cpu_unseen(cpu, t);
			t->stage = BLOCKED;
			if (preempt || runnable(prev))
				begins_to_wait(cpu, t, &m, 0);
		}
	} else {
		account(cpu, &m, 0);
	}
	if (busy && m.on) {
		t = task_of(next, &m, cpu);
		if (t && t->member) {
			members |= TO_MEMBER;
			gets_cpu(cpu, t, &m, !was);
		}
	}
	if (chains && m.on)
		tell_switch(prev, next, &m, number, was && (preempt || runnable(prev)), members);
	if (busy != was)
		turn(cpu, &m, busy, number);
	cpu->last_ns = m.on ? m.ns : 0;
	cpu->last_rel = m.on ? m.rel : 0;
	if (!m.on)
		cpu->seen = m.window;
	return 0;
}

static __always_inline int waking(struct task_struct *p)
{
	u32 number = bpf_get_smp_processor_id();
	u64 s = state;
	struct moment m;
	struct task *t;
	struct cpu *cpu;
	if (!(s & 1))
		return 0;
	cpu = bpf_map_lookup_elem(&cpus, &number);
	if (!cpu)
		return 0;
	m = look(s);
	if (!m.on)
		return 0;
	t = task_of(p, &m, cpu);
	// One that runs is not woken: it has not slept yet.
	if (t && t->member && (t->stage == BLOCKED || (t->stage == UNSEEN && !p->on_cpu)))
		begins_to_wait(cpu, t, &m, m.ns);
	if (chains)
		tell_wake(p, &m, number, t && t->member ? TO_MEMBER : 0);
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *p)
{
	return waking(p);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *p)
{
	return waking(p);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	u32 from = parent->tgid, to = child->tgid;
	u8 *follow = bpf_map_lookup_elem(&processes, &from), yes = 1;
	if (from != to && follow && *follow)
		bpf_map_update_elem(&processes, &to, &yes, BPF_ANY);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *p)
{
	u32 tgid = p->tgid;
	if (BPF_CORE_READ(p, signal, live.counter) == 0) // its last thread
		bpf_map_delete_elem(&processes, &tgid);
	return 0;
}
