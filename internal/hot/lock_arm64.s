#include "textflag.h"
#include "go_asm.h"

#define COUNT(FIELD) \
	MOVD FIELD(R2), R12; \
	ADD  $1, R12; \
	MOVD R12, FIELD(R2)

// As C compilers do it by default (-moutline-atomics): the atomic instructions where
// the processor has them, which scale to many threads, and exclusive loads and stores
// elsewhere, so that one binary runs everywhere.
//
// func take(lock, stop *Word, counts *Counts, lse uint64)
TEXT ·take(SB), NOSPLIT, $0-32
	MOVD lock+0(FP), R0
	MOVD stop+8(FP), R1
	MOVD counts+16(FP), R2
	MOVD lse+24(FP), R10
	MOVD $1, R6
	PCALIGN $64
again:
	MOVWU  (R1), R12
	CBNZW  R12, done
	MOVWU  (R0), R11
	CBNZW  R11, held
	CBZ    R10, exclusive
	SWPALW R6, (R0), R11
	CBNZW  R11, held
mine:
	COUNT(Counts_Locked)
	STLRW  ZR, (R0)
	B      again
exclusive:
	LDAXRW (R0), R11
	CBNZW  R11, taken
	STLXRW R6, (R0), R12
	CBNZW  R12, exclusive
	B      mine
taken:
	CLREX
held:
	COUNT(Counts_Spins)
	ISB    $15
	B      again
done:
	RET
