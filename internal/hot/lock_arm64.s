#include "textflag.h"
#include "go_asm.h"

// Put together from the same pieces as those for amd64. The registers of all loops:
//
//	R0 lock, R1 stop word, R2 counts, R7 node, R8 waits, R21 the Taker
//	R3 critical, R4 parallel, R5 touch, R6 1, R9 ticks at the first try, then of the wait
//	R10 whether the atomic instructions of ARMv8.1 are there
//	R19 second word of the lock or of the node
//
// R11 to R15 and R20 are free. ARGS loads them; an acquisition leaves 0 in R11, which
// depends on what was read from the lock, except in MUTEXLOOP, where it is a constant:
// what comes here from a sleep has nothing in R11.
#define ARGS \
	MOVD  t+0(FP), R21; \
	MOVD  Taker_Lock(R21), R0; \
	MOVD  Taker_Stop(R21), R1; \
	MOVD  Taker_Counts(R21), R2; \
	MOVD  Taker_Node(R21), R7; \
	MOVD  Taker_Waits(R21), R8; \
	MOVD  Taker_Critical(R21), R3; \
	MOVD  Taker_Parallel(R21), R4; \
	MOVBU Taker_Touch(R21), R5; \
	MOVD  Taker_lse(R21), R10; \
	MOVD  $1, R6

#define NONE

#define COUNT(FIELD) \
	MOVD FIELD(R2), R12; \
	ADD  $1, R12; \
	MOVD R12, FIELD(R2)

// R12 dependent subtractions.
#define SUBS4 SUB R6, R12; SUB R6, R12; SUB R6, R12; SUB R6, R12
#define CHAIN(MANY, FEW, ONE, END) \
	CMP  $16, R12; \
	BLO  FEW; \
MANY: \
	SUBS4; \
	SUBS4; \
	SUBS4; \
	SUBS4; \
	CMP  $16, R12; \
	BHS  MANY; \
FEW: \
	CBZ  R12, END; \
ONE: \
	SUBS R6, R12; \
	BNE  ONE; \
END:

#define WORK \
	CBZ  R5, untouched; \
	MOVD Lock_Guarded(R0), R12; \
	ADD  $1, R12; \
	MOVD R12, Lock_Guarded(R0); \
untouched: \
	ADD  R3, R11, R12; \
	CHAIN(many, few, one, worked)

#define REST \
	MOVD R4, R12; \
	CHAIN(manyRest, fewRest, oneRest, rested)

#define STAMP \
	ISB $15; \
	MRS CNTVCT_EL0, R9

#define WAITED \
	ISB $15; \
	MRS CNTVCT_EL0, R12; \
	SUB R9, R12, R9

// What Waits.Add does.
#define RECORD \
	ORR  $16, R9, R12; \
	CLZ  R12, R12; \
	MOVD $59, R13; \
	SUB  R12, R13, R12; \
	LSR  R12, R9, R13; \
	ADD  R12<<4, R13, R13; \
	MOVD (R8)(R13<<3), R14; \
	ADD  $1, R14; \
	MOVD R14, (R8)(R13<<3)

#define RECORDREST RECORD; REST
#define WAITEDWORK WAITED; WORK

// As C compilers do it by default (-moutline-atomics): the atomic instructions where
// the processor has them, which scale to many threads, and exclusive loads and stores
// elsewhere, so that one binary runs everywhere.
//
// LOOK is NONE or TEST.
#define TEST MOVWU (R0), R11; CBNZW R11, held
#define SWAPLOOP(LOOK, WAIT, BEFORE, BODY, AFTER) \
	PCALIGN $64; \
again: \
	BEFORE; \
retry: \
	MOVWU  (R1), R12; \
	CBNZW  R12, done; \
	LOOK; \
	CBZ    R10, exclusive; \
	SWPALW R6, (R0), R11; \
	CBNZW  R11, held; \
mine: \
	BODY; \
	COUNT(Counts_Locked); \
	STLRW  ZR, (R0); \
	AFTER; \
	B      again; \
exclusive: \
	LDAXRW (R0), R11; \
	CBNZW  R11, taken; \
	STLXRW R6, (R0), R12; \
	CBNZW  R12, exclusive; \
	B      mine; \
taken: \
	CLREX; \
held: \
	COUNT(Counts_Spins); \
	WAIT; \
	B      retry; \
done: \
	RET

// Who has drawn a number is served, also after the stop word was set.
#define TICKETLOOP(WAIT, BEFORE, BODY, AFTER) \
	ADD    $4, R0, R19; \
	PCALIGN $64; \
again: \
	MOVWU  (R1), R12; \
	CBNZW  R12, done; \
	BEFORE; \
	CBZ    R10, exclusive; \
	LDADDALW R6, (R0), R13; \
wait: \
	LDARW  (R19), R11; \
	EORW   R13, R11, R11; \
	CBNZW  R11, held; \
	BODY; \
	COUNT(Counts_Locked); \
	MOVWU  (R19), R12; \
	ADDW   $1, R12; \
	STLRW  R12, (R19); \
	AFTER; \
	B      again; \
exclusive: \
	LDAXRW (R0), R13; \
	ADDW   $1, R13, R14; \
	STLXRW R14, (R0), R12; \
	CBNZW  R12, exclusive; \
	B      wait; \
held: \
	COUNT(Counts_Spins); \
	WAIT; \
	B      wait; \
done: \
	RET

#define MCSLOOP(WAIT, BEFORE, BODY, AFTER) \
	ADD   $Node_wait, R7, R19; \
	PCALIGN $64; \
again: \
	MOVWU (R1), R12; \
	CBNZW R12, done; \
	BEFORE; \
	MOVD  ZR, Node_next(R7); \
	MOVW  R6, (R19); \
	CBZ   R10, exclusive; \
	SWPALD R7, (R0), R11; \
swapped: \
	CBZ   R11, mine; \
	STLR  R7, (R11); /* Node.next of the one before */ \
wait: \
	LDARW (R19), R11; \
	CBNZW R11, held; \
mine: \
	BODY; \
	COUNT(Counts_Locked); \
	LDAR  (R7), R13; \
	CBNZ  R13, pass; \
	CBZ   R10, freeing; \
	MOVD  R7, R12; \
	CASALD R12, (R0), ZR; \
	CMP   R7, R12; \
	BEQ   released; \
linking: /* the next one has swapped, and not yet said who it is */ \
	LDAR  (R7), R13; \
	CBZ   R13, linking; \
pass: \
	ADD   $Node_wait, R13; \
	STLRW ZR, (R13); \
released: \
	AFTER; \
	B     again; \
exclusive: \
	LDAXR (R0), R11; \
	STLXR R7, (R0), R12; \
	CBNZW R12, exclusive; \
	B     swapped; \
freeing: \
	LDAXR (R0), R12; \
	CMP   R7, R12; \
	BNE   late; \
	STLXR ZR, (R0), R12; \
	CBNZW R12, freeing; \
	B     released; \
late: \
	CLREX; \
	B     linking; \
held: \
	COUNT(Counts_Spins); \
	WAIT; \
	B     wait; \
done: \
	RET

// KEEP and RECALL carry the ticks of the first try over a sleep.
#define STAMPKEEP STAMP; MOVD R9, Taker_began(R21)
#define RECALLWAITED MOVD Taker_began(R21), R9; WAITED

#define MUTEXLOOP(BEFORE, ACQUIRED, RELEASED) \
	MOVD   from+8(FP), R12; \
	CMP    $const_Held, R12; \
	BEQ    mine; \
	CMP    $const_Released, R12; \
	BEQ    released; \
	PCALIGN $64; \
again: \
	MOVWU  (R1), R12; \
	CBNZW  R12, done; \
	BEFORE; \
	CBZ    R10, exclusive; \
	MOVD   ZR, R11; \
	CASALW R11, (R0), R6; \
	CBNZW  R11, held; \
mine: \
	MOVD   ZR, R11; \
	ACQUIRED; \
	WORK; \
	COUNT(Counts_Locked); \
	CBZ    R10, freeing; \
	SWPALW ZR, (R0), R20; \
freed: \
	RELEASED; \
	CMPW   $2, R20; \
	BEQ    wake; \
released: \
	REST; \
	B      again; \
exclusive: \
	LDAXRW (R0), R11; \
	CBNZW  R11, taken; \
	STLXRW R6, (R0), R12; \
	CBNZW  R12, exclusive; \
	B      mine; \
freeing: \
	LDAXRW (R0), R20; \
	STLXRW ZR, (R0), R12; \
	CBNZW  R12, freeing; \
	B      freed; \
taken: \
	CLREX; \
held: \
	COUNT(Counts_Spins); \
	MOVD   $const_Contended, R12; \
	MOVD   R12, ret+16(FP); \
	RET; \
wake: \
	MOVD   $const_Wake, R12; \
	MOVD   R12, ret+16(FP); \
	RET; \
done: \
	MOVD   $const_Stopped, R12; \
	MOVD   R12, ret+16(FP); \
	RET

TEXT ·tas(SB), NOSPLIT, $0-8
	ARGS
	SWAPLOOP(NONE, ISB $15, NONE, NONE, NONE)
TEXT ·tasHot(SB), NOSPLIT, $0-8
	ARGS
	SWAPLOOP(NONE, NONE, NONE, NONE, NONE)
TEXT ·tasWork(SB), NOSPLIT, $0-8
	ARGS
	SWAPLOOP(NONE, ISB $15, NONE, WORK, REST)
TEXT ·tasWorkHot(SB), NOSPLIT, $0-8
	ARGS
	SWAPLOOP(NONE, NONE, NONE, WORK, REST)
TEXT ·tasTimed(SB), NOSPLIT, $0-8
	ARGS
	SWAPLOOP(NONE, ISB $15, STAMP, WAITEDWORK, RECORDREST)
TEXT ·tasTimedHot(SB), NOSPLIT, $0-8
	ARGS
	SWAPLOOP(NONE, NONE, STAMP, WAITEDWORK, RECORDREST)

TEXT ·ttas(SB), NOSPLIT, $0-8
	ARGS
	SWAPLOOP(TEST, ISB $15, NONE, NONE, NONE)
TEXT ·ttasHot(SB), NOSPLIT, $0-8
	ARGS
	SWAPLOOP(TEST, NONE, NONE, NONE, NONE)
TEXT ·ttasWork(SB), NOSPLIT, $0-8
	ARGS
	SWAPLOOP(TEST, ISB $15, NONE, WORK, REST)
TEXT ·ttasWorkHot(SB), NOSPLIT, $0-8
	ARGS
	SWAPLOOP(TEST, NONE, NONE, WORK, REST)
TEXT ·ttasTimed(SB), NOSPLIT, $0-8
	ARGS
	SWAPLOOP(TEST, ISB $15, STAMP, WAITEDWORK, RECORDREST)
TEXT ·ttasTimedHot(SB), NOSPLIT, $0-8
	ARGS
	SWAPLOOP(TEST, NONE, STAMP, WAITEDWORK, RECORDREST)

TEXT ·ticket(SB), NOSPLIT, $0-8
	ARGS
	TICKETLOOP(ISB $15, NONE, NONE, NONE)
TEXT ·ticketHot(SB), NOSPLIT, $0-8
	ARGS
	TICKETLOOP(NONE, NONE, NONE, NONE)
TEXT ·ticketWork(SB), NOSPLIT, $0-8
	ARGS
	TICKETLOOP(ISB $15, NONE, WORK, REST)
TEXT ·ticketWorkHot(SB), NOSPLIT, $0-8
	ARGS
	TICKETLOOP(NONE, NONE, WORK, REST)
TEXT ·ticketTimed(SB), NOSPLIT, $0-8
	ARGS
	TICKETLOOP(ISB $15, STAMP, WAITEDWORK, RECORDREST)
TEXT ·ticketTimedHot(SB), NOSPLIT, $0-8
	ARGS
	TICKETLOOP(NONE, STAMP, WAITEDWORK, RECORDREST)

TEXT ·mcs(SB), NOSPLIT, $0-8
	ARGS
	MCSLOOP(ISB $15, NONE, NONE, NONE)
TEXT ·mcsHot(SB), NOSPLIT, $0-8
	ARGS
	MCSLOOP(NONE, NONE, NONE, NONE)
TEXT ·mcsWork(SB), NOSPLIT, $0-8
	ARGS
	MCSLOOP(ISB $15, NONE, WORK, REST)
TEXT ·mcsWorkHot(SB), NOSPLIT, $0-8
	ARGS
	MCSLOOP(NONE, NONE, WORK, REST)
TEXT ·mcsTimed(SB), NOSPLIT, $0-8
	ARGS
	MCSLOOP(ISB $15, STAMP, WAITEDWORK, RECORDREST)
TEXT ·mcsTimedHot(SB), NOSPLIT, $0-8
	ARGS
	MCSLOOP(NONE, STAMP, WAITEDWORK, RECORDREST)

TEXT ·mutex(SB), NOSPLIT, $0-24
	ARGS
	MUTEXLOOP(NONE, NONE, NONE)
TEXT ·mutexTimed(SB), NOSPLIT, $0-24
	ARGS
	MUTEXLOOP(STAMPKEEP, RECALLWAITED, RECORD)
