#include "textflag.h"
#include "go_asm.h"

// The loops are put together from macros, so that each has in its path only what it
// needs. The registers of all of them:
//
//	DI lock, SI stop word, BX counts, R12 node, R13 waits, R15 the Taker
//	R8 critical, R9 parallel, R10 touch, R11 1, R14 ticks at the first try, then of the wait
//
// AX, CX and DX are free. ARGS loads them; an acquisition leaves 0 in AX, which
// depends on what was read from the lock, except in MUTEXLOOP, where it is a constant:
// what comes here from a sleep has nothing in AX.
#define ARGS \
	MOVQ t+0(FP), R15; \
	MOVQ Taker_Lock(R15), DI; \
	MOVQ Taker_Stop(R15), SI; \
	MOVQ Taker_Counts(R15), BX; \
	MOVQ Taker_Node(R15), R12; \
	MOVQ Taker_Waits(R15), R13; \
	MOVQ Taker_Critical(R15), R8; \
	MOVQ Taker_Parallel(R15), R9; \
	MOVBQZX Taker_Touch(R15), R10; \
	MOVQ $1, R11

#define NONE

// CX dependent subtractions, mostly sixteen in a row: a loop of one takes one cycle or
// two, as it happens, on some cores. The subtrahend is in a register for the reason that
// Adds gives.
#define SUBS4 SUBQ R11, CX; SUBQ R11, CX; SUBQ R11, CX; SUBQ R11, CX
#define CHAIN(MANY, FEW, ONE, END) \
	CMPQ  CX, $16; \
	JCS   FEW; \
MANY: \
	SUBS4; \
	SUBS4; \
	SUBS4; \
	SUBS4; \
	CMPQ  CX, $16; \
	JCC   MANY; \
FEW: \
	TESTQ CX, CX; \
	JZ    END; \
ONE: \
	SUBQ  R11, CX; \
	JNZ   ONE; \
END:

// The critical section. The chain begins with AX, so that it cannot run ahead of the
// acquisition, and a store is not seen before all instructions before it are done.
#define WORK \
	TESTQ R10, R10; \
	JZ    untouched; \
	INCQ  Lock_Guarded(DI); \
untouched: \
	LEAQ  (R8)(AX*1), CX; \
	CHAIN(many, few, one, worked)

// The parallel section.
#define REST \
	MOVQ  R9, CX; \
	CHAIN(manyRest, fewRest, oneRest, rested)

// Ticks before the first try, and those of the wait after the acquisition.
#define STAMP \
	LFENCE; \
	RDTSC; \
	SHLQ $32, DX; \
	ORQ  DX, AX; \
	MOVQ AX, R14

#define WAITED \
	LFENCE; \
	RDTSC; \
	SHLQ $32, DX; \
	ORQ  DX, AX; \
	SUBQ R14, AX; \
	MOVQ AX, R14; \
	XORL AX, AX

// What Waits.Add does, after the release.
#define RECORD \
	MOVQ R14, AX; \
	MOVQ AX, CX; \
	ORQ  $16, CX; \
	BSRQ CX, CX; \
	SUBQ $4, CX; \
	SHRQ CX, AX; \
	SHLQ $4, CX; \
	ADDQ CX, AX; \
	INCQ (R13)(AX*8)

#define RECORDREST RECORD; REST
#define WAITEDWORK WAITED; WORK

// LOOK is NONE or TEST.
#define TEST CMPL (DI), $0; JNE held
#define SWAPLOOP(LOOK, WAIT, BEFORE, BODY, AFTER) \
	PCALIGN $64; \
again: \
	BEFORE; \
retry: \
	CMPL  (SI), $0; \
	JNE   done; \
	LOOK; \
	MOVL  $1, AX; \
	XCHGL AX, (DI); \
	TESTL AX, AX; \
	JNE   held; \
	BODY; \
	INCQ  Counts_Locked(BX); \
	MOVL  $0, (DI); /* x86 moves no store before an earlier access */ \
	AFTER; \
	JMP   again; \
held: \
	INCQ  Counts_Spins(BX); \
	WAIT; \
	JMP   retry; \
done: \
	RET

// Who has drawn a number is served, also after the stop word was set.
#define TICKETLOOP(WAIT, BEFORE, BODY, AFTER) \
	PCALIGN $64; \
again: \
	CMPL  (SI), $0; \
	JNE   done; \
	BEFORE; \
	MOVL  $1, CX; \
	LOCK; \
	XADDL CX, (DI); \
wait: \
	MOVL  4(DI), AX; \
	XORL  CX, AX; \
	JNE   held; \
	BODY; \
	INCQ  Counts_Locked(BX); \
	INCL  4(DI); /* nobody else writes it meanwhile */ \
	AFTER; \
	JMP   again; \
held: \
	INCQ  Counts_Spins(BX); \
	WAIT; \
	JMP   wait; \
done: \
	RET

// The stop word is read while the lock is held: between CMPXCHG and XCHG, where there is no
// other load, it would cost a tenth.
#define MCSLOOP(WAIT, BEFORE, BODY, AFTER) \
	CMPL     (SI), $0; \
	JNE      done; \
	PCALIGN $64; \
again: \
	BEFORE; \
	MOVQ     $0, Node_next(R12); \
	MOVL     $1, Node_wait(R12); \
	MOVQ     R12, AX; \
	XCHGQ    AX, (DI); \
	TESTQ    AX, AX; \
	JZ       mine; \
	MOVQ     R12, Node_next(AX); \
wait: \
	MOVL     Node_wait(R12), AX; \
	TESTL    AX, AX; \
	JNE      held; \
mine: \
	BODY; \
	INCQ     Counts_Locked(BX); \
	MOVL     (SI), DX; \
	MOVQ     Node_next(R12), CX; \
	TESTQ    CX, CX; \
	JNE      pass; \
	MOVQ     R12, AX; \
	LOCK; \
	CMPXCHGQ CX, (DI); \
	JEQ      released; \
linking: /* the next one has swapped, and not yet said who it is */ \
	PAUSE; \
	MOVQ     Node_next(R12), CX; \
	TESTQ    CX, CX; \
	JZ       linking; \
pass: \
	MOVL     $0, Node_wait(CX); \
released: \
	AFTER; \
	TESTL    DX, DX; \
	JZ       again; \
	JMP      done; \
held: \
	INCQ     Counts_Spins(BX); \
	WAIT; \
	JMP      wait; \
done: \
	RET

// KEEP and RECALL carry the ticks of the first try over a sleep.
#define STAMPKEEP STAMP; MOVQ R14, Taker_began(R15)
#define RECALLWAITED MOVQ Taker_began(R15), R14; WAITED

#define MUTEXLOOP(BEFORE, ACQUIRED, RELEASED) \
	MOVQ     from+8(FP), AX; \
	CMPQ     AX, $const_Held; \
	JEQ      mine; \
	CMPQ     AX, $const_Released; \
	JEQ      released; \
	PCALIGN $64; \
again: \
	CMPL     (SI), $0; \
	JNE      done; \
	BEFORE; \
	XORL     AX, AX; \
	LOCK; \
	CMPXCHGL R11, (DI); \
	JNE      held; \
mine: \
	XORL     AX, AX; \
	ACQUIRED; \
	WORK; \
	INCQ     Counts_Locked(BX); \
	XORL     AX, AX; \
	XCHGL    AX, (DI); \
	MOVL     AX, DX; \
	RELEASED; \
	CMPL     DX, $2; \
	JEQ      wake; \
released: \
	REST; \
	JMP      again; \
held: \
	INCQ     Counts_Spins(BX); \
	MOVQ     $const_Contended, ret+16(FP); \
	RET; \
wake: \
	MOVQ     $const_Wake, ret+16(FP); \
	RET; \
done: \
	MOVQ     $const_Stopped, ret+16(FP); \
	RET

TEXT ·tas(SB), NOSPLIT, $0-8
	ARGS
	SWAPLOOP(NONE, PAUSE, NONE, NONE, NONE)
TEXT ·tasHot(SB), NOSPLIT, $0-8
	ARGS
	SWAPLOOP(NONE, NONE, NONE, NONE, NONE)
TEXT ·tasWork(SB), NOSPLIT, $0-8
	ARGS
	SWAPLOOP(NONE, PAUSE, NONE, WORK, REST)
TEXT ·tasWorkHot(SB), NOSPLIT, $0-8
	ARGS
	SWAPLOOP(NONE, NONE, NONE, WORK, REST)
TEXT ·tasTimed(SB), NOSPLIT, $0-8
	ARGS
	SWAPLOOP(NONE, PAUSE, STAMP, WAITEDWORK, RECORDREST)
TEXT ·tasTimedHot(SB), NOSPLIT, $0-8
	ARGS
	SWAPLOOP(NONE, NONE, STAMP, WAITEDWORK, RECORDREST)

TEXT ·ttas(SB), NOSPLIT, $0-8
	ARGS
	SWAPLOOP(TEST, PAUSE, NONE, NONE, NONE)
TEXT ·ttasHot(SB), NOSPLIT, $0-8
	ARGS
	SWAPLOOP(TEST, NONE, NONE, NONE, NONE)
TEXT ·ttasWork(SB), NOSPLIT, $0-8
	ARGS
	SWAPLOOP(TEST, PAUSE, NONE, WORK, REST)
TEXT ·ttasWorkHot(SB), NOSPLIT, $0-8
	ARGS
	SWAPLOOP(TEST, NONE, NONE, WORK, REST)
TEXT ·ttasTimed(SB), NOSPLIT, $0-8
	ARGS
	SWAPLOOP(TEST, PAUSE, STAMP, WAITEDWORK, RECORDREST)
TEXT ·ttasTimedHot(SB), NOSPLIT, $0-8
	ARGS
	SWAPLOOP(TEST, NONE, STAMP, WAITEDWORK, RECORDREST)

TEXT ·ticket(SB), NOSPLIT, $0-8
	ARGS
	TICKETLOOP(PAUSE, NONE, NONE, NONE)
TEXT ·ticketHot(SB), NOSPLIT, $0-8
	ARGS
	TICKETLOOP(NONE, NONE, NONE, NONE)
TEXT ·ticketWork(SB), NOSPLIT, $0-8
	ARGS
	TICKETLOOP(PAUSE, NONE, WORK, REST)
TEXT ·ticketWorkHot(SB), NOSPLIT, $0-8
	ARGS
	TICKETLOOP(NONE, NONE, WORK, REST)
TEXT ·ticketTimed(SB), NOSPLIT, $0-8
	ARGS
	TICKETLOOP(PAUSE, STAMP, WAITEDWORK, RECORDREST)
TEXT ·ticketTimedHot(SB), NOSPLIT, $0-8
	ARGS
	TICKETLOOP(NONE, STAMP, WAITEDWORK, RECORDREST)

TEXT ·mcs(SB), NOSPLIT, $0-8
	ARGS
	MCSLOOP(PAUSE, NONE, NONE, NONE)
TEXT ·mcsHot(SB), NOSPLIT, $0-8
	ARGS
	MCSLOOP(NONE, NONE, NONE, NONE)
TEXT ·mcsWork(SB), NOSPLIT, $0-8
	ARGS
	MCSLOOP(PAUSE, NONE, WORK, REST)
TEXT ·mcsWorkHot(SB), NOSPLIT, $0-8
	ARGS
	MCSLOOP(NONE, NONE, WORK, REST)
TEXT ·mcsTimed(SB), NOSPLIT, $0-8
	ARGS
	MCSLOOP(PAUSE, STAMP, WAITEDWORK, RECORDREST)
TEXT ·mcsTimedHot(SB), NOSPLIT, $0-8
	ARGS
	MCSLOOP(NONE, STAMP, WAITEDWORK, RECORDREST)

TEXT ·mutex(SB), NOSPLIT, $0-24
	ARGS
	MUTEXLOOP(NONE, NONE, NONE)
TEXT ·mutexTimed(SB), NOSPLIT, $0-24
	ARGS
	MUTEXLOOP(STAMPKEEP, RECALLWAITED, RECORD)
