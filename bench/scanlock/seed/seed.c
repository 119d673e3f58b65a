// seed.c: the program of "Be aware: To Hyper or not to hyper" (2005) in portable C, with its
// counters in lines of their own. Its loops are the seed's: they end with the process.
//
//	seed WARM_UP_MS WINDOW_MS CPU:lock|scan ...
//	seed gaps CPU WINDOW_MS
//
// The first prints a line for each thread: acquisitions, spins and scans per second of
// its CPU time, and the share of the window that it was on the CPU; the second how many gaps above 1 us there were per second between readings of the
// time stamp counter.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
static inline void smt_pause(void) { _mm_pause(); }
static inline uint64_t ticks(void) { _mm_lfence(); uint64_t t = __rdtsc(); _mm_lfence(); return t; }
#elif defined(__aarch64__)
static inline void smt_pause(void) { __asm__ volatile("isb"); }
static inline uint64_t ticks(void) { uint64_t t; __asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(t)); return t; }
#endif

enum { MAX_THREADS = 1024, LINE = 128 };

struct stats { volatile uint64_t locked, spinned; };
static _Alignas(LINE) char stats_memory[MAX_THREADS * LINE];
static struct stats *stats_of(int i) { return (struct stats *)(stats_memory + i * LINE); }

static _Alignas(4096) char memory_block[1024 * 1024];

static _Alignas(LINE) struct { atomic_int v; char pad[LINE - 4]; } lock;
static _Alignas(LINE) atomic_int ready, go;

struct thread { int id, cpu; const char *role; };

static void scan(struct stats *s)
{
	for (;;) {
		memset(memory_block, 0, sizeof memory_block);
		__asm__ volatile("" ::: "memory"); // or the compiler drops all but the last
		s->spinned++;
	}
}

static void take_ttas(struct stats *s)
{
	for (;;) {
		if (atomic_load_explicit(&lock.v, memory_order_relaxed) == 0 && atomic_exchange_explicit(&lock.v, 1, memory_order_acquire) == 0) {
			s->locked++;
			atomic_store_explicit(&lock.v, 0, memory_order_release);
		} else {
			s->spinned++;
			smt_pause();
		}
	}
}

static int pin(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof set, &set);
}

static void *run(void *p)
{
	struct thread *t = p;
	struct stats *s = stats_of(t->id);
	if (pin(t->cpu)) {
		fprintf(stderr, "seed: CPU %d cannot be used\n", t->cpu);
		exit(1);
	}
	if (!strcmp(t->role, "scan"))
		memset(memory_block, 1, sizeof memory_block);
	atomic_fetch_add(&ready, 1);
	while (!atomic_load(&go))
		smt_pause();
	if (!strcmp(t->role, "scan"))
		scan(s);
	else
		take_ttas(s);
	return NULL;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static double cpu_time(pthread_t id)
{
	clockid_t clock;
	struct timespec t = {0};
	if (!pthread_getcpuclockid(id, &clock))
		clock_gettime(clock, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void rest(int ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
	while (nanosleep(&t, &t))
		;
}

static int gaps(int cpu, int ms)
{
	if (pin(cpu)) {
		fprintf(stderr, "seed: CPU %d cannot be used\n", cpu);
		return 1;
	}
	double a = now();
	uint64_t t = ticks();
	while (now() - a < 0.05)
		;
	uint64_t us = (ticks() - t) / ((now() - a) * 1e6), n = 0, last = ticks(), end = last + (uint64_t)ms * 1000 * us;
	double begin = now();
	for (uint64_t i = last; (i = ticks()) < end; last = i)
		if (i - last > us)
			n++;
	printf("%g\n", n / (now() - begin));
	return 0;
}

int main(int argc, char **argv)
{
	static struct thread threads[MAX_THREADS];
	static uint64_t before[MAX_THREADS][2];
	if (argc == 4 && !strcmp(argv[1], "gaps"))
		return gaps(atoi(argv[2]), atoi(argv[3]));
	static pthread_t ids[MAX_THREADS];
	static double used[MAX_THREADS];
	int n = argc - 3;
	if (n < 1 || n > MAX_THREADS) {
		fprintf(stderr, "usage: seed WARM_UP_MS WINDOW_MS CPU:ROLE ... | seed gaps CPU WINDOW_MS\n");
		return 2;
	}
	for (int i = 0; i < n; i++) {
		char *role = strchr(argv[3 + i], ':');
		threads[i] = (struct thread){i, atoi(argv[3 + i]), role ? role + 1 : ""};
		if (pthread_create(&ids[i], NULL, run, &threads[i]))
			return 1;
	}
	while (atomic_load(&ready) < n)
		rest(1);
	atomic_store(&go, 1);
	rest(atoi(argv[1]));
	double begin = now();
	for (int i = 0; i < n; i++)
		used[i] = cpu_time(ids[i]), before[i][0] = stats_of(i)->locked, before[i][1] = stats_of(i)->spinned;
	rest(atoi(argv[2]));
	double wall = now() - begin;
	for (int i = 0; i < n; i++) {
		double locked = stats_of(i)->locked - before[i][0], spinned = stats_of(i)->spinned - before[i][1];
		double cpu = cpu_time(ids[i]) - used[i];
		int scans = !strcmp(threads[i].role, "scan");
		printf("%.17g %.17g %.17g %g\n", cpu > 0 ? locked / cpu : 0, cpu > 0 && !scans ? spinned / cpu : 0,
			cpu > 0 && scans ? spinned / cpu : 0, cpu / wall);
	}
	return 0;
}
