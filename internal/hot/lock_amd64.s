#include "textflag.h"
#include "go_asm.h"

// func take(lock, stop *Word, counts *Counts, lse uint64)
TEXT ·take(SB), NOSPLIT, $0-32
	MOVQ lock+0(FP), DI
	MOVQ stop+8(FP), SI
	MOVQ counts+16(FP), BX
	PCALIGN $64
again:
	CMPL  (SI), $0
	JNE   done
	CMPL  (DI), $0
	JNE   held
	MOVL  $1, AX
	XCHGL AX, (DI)
	TESTL AX, AX
	JNE   held
	INCQ  Counts_Locked(BX)
	MOVL  $0, (DI) // x86 moves no store before an earlier access
	JMP   again
held:
	INCQ  Counts_Spins(BX)
	PAUSE
	JMP   again
done:
	RET
